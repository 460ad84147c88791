//===- LowerLoss.cpp - Losses and their gradients -------------------------===//
#include "codegen/cpu/LowerKernel.h"
#include "codegen/cpu/VectorMath.h"

#include <limits>

namespace betz::cpu {

namespace {

class LossLowering {
public:
  LossLowering(Emitter &e, const LossCore &core)
      : e(e), core(core), operand(e.spec().operands[size_t(core.x)]),
        x(e.pointer(core.x)), target(e.pointer(core.target)),
        rows(e.evaluate(operand.rows)), columns(operand.columns) {}

  void lower() {
    const bool isMse = core.kind == LossKind::Mse;
    if (core.dloss >= 0)
      return isMse ? lowerMseGrad() : lowerCrossEntropyGrad();
    e.loop(e.beginTask(), e.endTask(), 1, [&](Value) {
      Value mean = isMse ? mse() : crossEntropy();
      e.store(mean, e.pointer(e.spec().resultIndex()), e.integer(0));
    });
  }

private:
  Value loadX(Value row, Value column, Value mask) {
    return e.loadMasked(x, e.add(e.mul(row, operand.rowStride), column), mask,
                        e.vectorF32());
  }

  /// x - target.
  Value difference(Value row, Value column, Value mask) {
    int64_t stride = e.spec().operands[size_t(core.target)].rowStride;
    Value wanted = e.loadMasked(target, e.add(e.mul(row, stride), column), mask,
                                e.vectorF32());
    return e.fsub(loadX(row, column, mask), wanted);
  }

  /// total / count in f32, or zero of none.
  Value meanOf(Value total, Value count) {
    Value none = e.lessEqual(count, e.integer(0));
    Value divisor = e.widen(e.toReal(e.maximum(count, e.integer(1))));
    return e.select(none, e.real(0), e.narrow(e.fdiv(total, divisor)));
  }

  Value mse() {
    Values total = e.loop(
        e.integer(0), rows, 1, {e.real64(0)}, [&](Value row, Values carried) {
          Values sums = e.forColumns(
              columns, {e.splat(0)}, [&](Value column, Value mask, Values sum) {
                Value error = difference(row, column, mask);
                return Values{e.fma(error, error, sum[0])};
              });
          return Values{e.fadd(carried[0], e.widen(e.sumLanes(sums[0])))};
        });
    return meanOf(total[0], e.mul(rows, columns));
  }

  Value lossGradient() {
    return e.loadScalar(e.pointer(core.dloss), e.integer(0), e.f32());
  }

  void lowerMseGrad() {
    Epilogue epilogue(e);
    Value factor = e.fdiv(e.fmul(lossGradient(), e.real(2)),
                          e.toReal(e.mul(rows, columns)));
    forTaskRows(e, [&](Value row) {
      e.forColumns(columns, [&](Value column, Value mask) {
        Value error = difference(row, column, mask);
        epilogue.finish(e.fmul(error, e.broadcast(factor)), row, column, mask);
      });
    });
  }

  struct Softmax {
    Value maximum, total; // f32
  };
  /// The largest of a row's logits and the sum of exp(logit - largest).
  Softmax measure(Value row) {
    constexpr double kLowest = std::numeric_limits<float>::lowest();
    Values largest =
        e.forColumns(columns, {e.splat(kLowest)},
                     [&](Value column, Value mask, Values carried) {
                       Value value = loadX(row, column, mask);
                       if (mask)
                         value = e.select(mask, value, e.splat(kLowest));
                       return Values{e.fmax(carried[0], value)};
                     });
    Value maximum = e.maxLanes(largest[0]);
    Values sums = e.forColumns(
        columns, {e.splat(0)}, [&](Value column, Value mask, Values carried) {
          Value value = emitExp(
              e, e.fsub(loadX(row, column, mask), e.broadcast(maximum)));
          if (mask)
            value = e.select(mask, value, e.splat(0));
          return Values{e.fadd(carried[0], value)};
        });
    return {maximum, e.sumLanes(sums[0])};
  }

  Value labelOf(Value row) { return e.loadI32(target, row); }
  Value counts(Value label) { return e.lessEqual(e.integer(0), label); }

  Value crossEntropy() {
    Values sums = e.loop(
        e.integer(0), rows, 1, {e.real64(0), e.integer(0)},
        [&](Value row, Values carried) {
          Value label = labelOf(row), counted = counts(label);
          Softmax softmax = measure(row);
          Value log = e.firstLane(emitLog(e, e.broadcast(softmax.total)));
          Value place =
              e.minimum(e.maximum(label, e.integer(0)), e.integer(columns - 1));
          Value logit = e.loadScalar(
              x, e.add(e.mul(row, operand.rowStride), place), e.f32());
          Value loss = e.fadd(log, e.fsub(softmax.maximum, logit));
          loss = e.select(counted, loss, e.real(0));
          Value one = e.select(counted, e.integer(1), e.integer(0));
          return Values{e.fadd(carried[0], e.widen(loss)),
                        e.add(carried[1], one)};
        });
    return meanOf(sums[0], sums[1]);
  }

  void lowerCrossEntropyGrad() {
    Epilogue epilogue(e);
    Values counted = e.loop(
        e.integer(0), rows, 1, {e.integer(0)}, [&](Value row, Values count) {
          return Values{e.add(count[0], e.select(counts(labelOf(row)),
                                                 e.integer(1), e.integer(0)))};
        });
    Value factor = e.fdiv(lossGradient(), e.toReal(counted[0]));
    forTaskRows(e, [&](Value row) {
      Value label = labelOf(row);
      Softmax softmax = measure(row);
      Value inverse = e.broadcast(e.fdiv(e.real(1), softmax.total));
      Value isCounted = e.broadcast(counts(label));
      e.forColumns(columns, [&](Value column, Value mask) {
        Value value = emitExp(
            e, e.fsub(loadX(row, column, mask), e.broadcast(softmax.maximum)));
        Value isLabel = e.builder.create<mlir::arith::CmpIOp>(
            e.where, mlir::arith::CmpIPredicate::eq, e.laneNumbers(),
            e.broadcastInteger(e.sub(label, column)));
        value = e.fsub(e.fmul(value, inverse),
                       e.select(isLabel, e.splat(1), e.splat(0)));
        value = e.fmul(value, e.broadcast(factor));
        epilogue.finish(e.select(isCounted, value, e.splat(0)), row, column,
                        mask);
      });
    });
  }

  Emitter &e;
  const LossCore &core;
  const OperandSpec &operand;
  Value x, target, rows;
  int64_t columns;
};

} // namespace

void lowerLoss(Emitter &e, const LossCore &core) {
  LossLowering(e, core).lower();
}

} // namespace betz::cpu
