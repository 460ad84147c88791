//===- LowerLayout.cpp - Weights and gradients laid out in a step ---------===//
#include "codegen/cpu/LowerKernel.h"

namespace betz::cpu {

/// Runs `body(row, first, end)` for the rows of each task and its columns.
static void forTaskTiles(Emitter &e,
                         llvm::function_ref<void(Value, Value, Value)> body) {
  const OperandSpec &result = e.spec().result();
  const TileConfig &tile = e.spec().tile;
  int64_t across = (result.columns + tile.columns - 1) / tile.columns;
  e.loop(e.beginTask(), e.endTask(), 1, [&](Value task) {
    Value firstRow = e.mul(e.divide(task, across), tile.rows);
    Value endRow =
        e.minimum(e.add(firstRow, tile.rows), e.evaluate(result.rows));
    Value first = e.mul(e.remainder(task, across), tile.columns);
    Value end =
        e.minimum(e.add(first, tile.columns), e.integer(result.columns));
    e.loop(firstRow, endRow, 1, [&](Value row) { body(row, first, end); });
  });
}

void lowerJoin(Emitter &e, const JoinCore &core) {
  Epilogue epilogue(e);
  Values pointers;
  for (int32_t part : core.parts)
    pointers.push_back(e.pointer(part));
  forTaskTiles(e, [&](Value row, Value first, Value end) {
    // Columns [from, to) of the result that lie in the task.
    auto forPart = [&](int64_t from, int64_t to,
                       llvm::function_ref<Value(Value, Value)> value) {
      if (from == to)
        return;
      e.forColumns(e.maximum(first, e.integer(from)),
                   e.minimum(end, e.integer(to)),
                   [&](Value column, Value mask) {
                     epilogue.finish(value(column, mask), row, column, mask);
                   });
    };
    auto zero = [&](Value, Value) { return e.splat(0); };
    int64_t done = 0;
    for (auto [i, part] : llvm::enumerate(core.parts)) {
      const OperandSpec &operand = e.spec().operands[size_t(part)];
      int64_t from = core.columns[i], to = from + operand.columns;
      forPart(done, from, zero);
      forPart(from, to, [&](Value column, Value mask) {
        Value at = e.add(e.mul(row, operand.rowStride),
                         e.sub(column, e.integer(from)));
        return e.loadMasked(pointers[i], at, mask, e.vectorF32());
      });
      done = to;
    }
    forPart(done, e.spec().result().columns, zero);
  });
}

void lowerFill(Emitter &e, const FillCore &core) {
  Epilogue epilogue(e);
  forTaskTiles(e, [&](Value row, Value first, Value end) {
    e.forColumns(first, end, [&](Value column, Value mask) {
      epilogue.finish(e.splat(core.value), row, column, mask);
    });
  });
}

namespace {

/// A task is a panel, or rows of a plain transposed matrix.
class PackLowering {
public:
  PackLowering(Emitter &e, const PackCore &core)
      : e(e), core(core), operand(e.spec().operands[size_t(core.x)]),
        x(e.pointer(core.x)), result(e.pointer(e.spec().resultIndex())) {}

  void lower() {
    if (core.panel == 0)
      return lowerTransposed();
    e.loop(e.beginTask(), e.endTask(), 1, [&](Value panel) {
      Value first = e.mul(panel, core.panel);
      Value to = e.mul(panel, core.panel * depth());
      core.transposed ? copyColumns(first, to) : turnRows(first, to);
    });
  }

private:
  int64_t rows() const { return operand.rows.plus; }
  int64_t depth() const { return core.transposed ? rows() : operand.columns; }

  /// Panels of the columns of a transposed weight are columns of the weight.
  void copyColumns(Value first, Value to) {
    e.loop(e.integer(0), e.integer(rows()), 1, [&](Value row) {
      for (int64_t i = 0; i < core.panel; i += kLanes) {
        Value column = e.add(first, i);
        Value mask = e.laneMask(e.sub(e.integer(operand.columns), column));
        Value value =
            e.loadMasked(x, e.add(e.mul(row, operand.rowStride), column), mask,
                         e.vectorF32());
        e.store(value, result, e.add(e.add(to, e.mul(row, core.panel)), i));
      }
    });
  }

  void turnRows(Value first, Value to) {
    auto copy = [&](Value k, int64_t row, Value value) {
      e.store(value, result, e.add(e.add(to, e.mul(k, core.panel)), row));
    };
    e.loop(e.integer(0), e.integer(depth()), 1, [&](Value k) {
      for (int64_t i = 0; i < core.panel; ++i) {
        Value row = e.add(first, i);
        Value inside = e.less(row, e.integer(rows()));
        Value safe = e.minimum(row, e.integer(rows() - 1));
        Value value =
            e.loadScalar(x, e.add(e.mul(safe, operand.rowStride), k), e.f32());
        copy(k, i, e.select(inside, value, e.real(0)));
      }
    });
  }

  void lowerTransposed() {
    int64_t width = e.spec().result().columns;
    forTaskRows(e, [&](Value row) {
      e.loop(e.integer(0), e.integer(width), 1, [&](Value column) {
        Value value = e.loadScalar(
            x, e.add(e.mul(column, operand.rowStride), row), e.f32());
        e.store(value, result, e.add(e.mul(row, width), column));
      });
    });
  }

  Emitter &e;
  const PackCore &core;
  const OperandSpec &operand;
  Value x, result;
};

} // namespace

void lowerPack(Emitter &e, const PackCore &core) {
  PackLowering(e, core).lower();
}

void lowerAdamw(Emitter &e, const AdamwCore &core) {
  auto scalar = [&](int32_t operand, int64_t index) {
    return e.loadScalar(e.pointer(operand), e.integer(index), e.f32());
  };
  Value rate = scalar(core.schedule, 0);
  Value scale = scalar(core.schedule, 3);
  if (core.clip > 0) {
    Value norm = e.fmul(scale, e.sqrt(scalar(core.squares, 0)));
    Value factor = e.fdiv(e.real(core.clip), e.fadd(norm, e.real(1e-6)));
    scale = e.fmul(scale, e.fmin(e.real(1), factor));
  }
  Value kept = e.fsub(e.real(1), e.fmul(rate, e.real(core.weightDecay)));
  Value firstStep = e.broadcast(e.fmul(rate, scalar(core.schedule, 1)));
  Value secondScale = e.broadcast(scalar(core.schedule, 2));
  const int32_t results = e.spec().resultIndex();
  Value weights = e.pointer(core.weights), gradient = e.pointer(core.gradient);
  Value moments[] = {e.pointer(core.moment1), e.pointer(core.moment2)};
  Value targets[] = {e.pointer(results), e.pointer(results + 1),
                     e.pointer(results + 2)};
  forTaskTiles(e, [&](Value, Value first, Value end) {
    e.forColumns(first, end, [&](Value at, Value mask) {
      auto load = [&](Value pointer) {
        return e.loadMasked(pointer, at, mask, e.vectorF32());
      };
      Value g = e.fmul(load(gradient), e.broadcast(scale));
      Value first = e.fma(e.splat(core.beta1), load(moments[0]),
                          e.fmul(e.splat(1 - core.beta1), g));
      Value second = e.fma(e.splat(core.beta2), load(moments[1]),
                           e.fmul(e.splat(1 - core.beta2), e.fmul(g, g)));
      Value root = e.sqrt(e.fmul(second, secondScale));
      Value step =
          e.fdiv(e.fmul(first, firstStep), e.fadd(root, e.splat(core.eps)));
      Value weight = e.fsub(e.fmul(load(weights), e.broadcast(kept)), step);
      e.storeMasked(weight, targets[0], at, mask);
      e.storeMasked(first, targets[1], at, mask);
      e.storeMasked(second, targets[2], at, mask);
    });
  });
}

} // namespace betz::cpu
