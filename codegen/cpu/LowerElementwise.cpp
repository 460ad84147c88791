//===- LowerElementwise.cpp - Gather and elementwise kernels --------------===//
#include "codegen/cpu/LowerKernel.h"
#include "codegen/cpu/VectorMath.h"
#include "runtime/base/Hash.h"

namespace betz::cpu {

void lowerGather(Emitter &e, const GatherCore &core) {
  Epilogue epilogue(e);
  Values indices, tables;
  for (int32_t operand : core.indices)
    indices.push_back(e.pointer(operand));
  for (int32_t operand : core.tables)
    tables.push_back(e.pointer(operand));
  int64_t columns = e.spec().operands[size_t(core.tables[0])].columns;
  Value sums = core.reduce ? e.scratch(columns) : Value();
  forTaskRows(e, [&](Value row) {
    Values starts;
    for (auto [index, table] : llvm::zip_equal(indices, core.tables))
      starts.push_back(e.mul(e.loadI32(index, row),
                             e.spec().operands[size_t(table)].rowStride));
    e.forColumns(columns, [&](Value column, Value mask) {
      Value sum;
      for (auto [table, start] : llvm::zip_equal(tables, starts)) {
        Value value =
            e.loadMasked(table, e.add(start, column), mask, e.vectorF32());
        sum = sum ? e.fadd(sum, value) : value;
      }
      if (core.reduce)
        e.storeMasked(sum, sums, column, mask);
      else
        epilogue.finish(sum, row, column, mask);
    });
    if (core.reduce) {
      RowStatistics statistics(e, *core.reduce, sums, columns, columns);
      e.store(statistics.measure(e.integer(0)).scale,
              e.pointer(e.spec().resultIndex()), row);
    }
  });
}

void lowerIdentity(Emitter &e, const IdentityCore &core) {
  Epilogue epilogue(e);
  Value x = e.pointer(core.x);
  int64_t stride = e.spec().operands[size_t(core.x)].rowStride;
  forTaskRows(e, [&](Value row) {
    Value start = e.mul(row, stride);
    e.forColumns(e.spec().result().columns, [&](Value column, Value mask) {
      epilogue.finish(
          e.loadMasked(x, e.add(start, column), mask, e.vectorF32()), row,
          column, mask);
    });
  });
}

namespace {

class RotaryLowering {
public:
  RotaryLowering(Emitter &e, const RotaryCore &core)
      : e(e), core(core), headSize(e.spec().result().columns / core.heads),
        half(headSize / 2), epilogue(e), x(e.pointer(core.x)),
        stride(e.spec().operands[size_t(core.x)].rowStride),
        frequencies(makeFrequencies()) {
    if (core.position >= 0)
      positions = e.pointer(core.position);
  }

  void lower() {
    forTaskRows(e, [&](Value row) {
      Value time = timeOf(row);
      e.forColumns(half, [&](Value i, Value mask) {
        Value frequency = e.loadMasked(frequencies, i, mask,
                                       e.vectorType(e.builder.getF64Type()));
        SinCos angle = emitSinCosTurns(e, e.fmul(time, frequency));
        e.loop(e.integer(0), e.integer(core.heads), 1, [&](Value head) {
          turn(row, e.add(e.mul(head, headSize), i), mask, angle);
        });
      });
    });
  }

private:
  /// Turns for each unit of time, a table of one f64 a pair of columns.
  Value makeFrequencies() {
    std::vector<double> values = rotaryFrequencies(core, half);
    std::string bytes(reinterpret_cast<const char *>(values.data()),
                      values.size() * sizeof(double));
    return e.table("rotary_" + toHex(hashBytes(bytes)), values);
  }

  /// (position + offset) * step in all lanes, f64.
  Value timeOf(Value row) {
    Value position = positions ? e.loadI32(positions, row)
                               : e.remainder(row, core.rowsPerItem);
    mlir::Type f64 = e.builder.getF64Type();
    Value real =
        e.builder.create<mlir::arith::SIToFPOp>(e.where, f64, position);
    Value lanes = e.broadcast(real);
    return e.fmul(e.fadd(lanes, e.splatDouble(core.offset)),
                  e.splatDouble(core.step));
  }

  void turn(Value row, Value column, Value mask, const SinCos &angle) {
    Value partner = e.add(column, half);
    Value start = e.mul(row, stride);
    Value u = e.loadMasked(x, e.add(start, column), mask, e.vectorF32());
    Value w = e.loadMasked(x, e.add(start, partner), mask, e.vectorF32());
    Value turnedU = e.fsub(e.fmul(u, angle.cosine), e.fmul(w, angle.sine));
    Value turnedW = e.fadd(e.fmul(w, angle.cosine), e.fmul(u, angle.sine));
    epilogue.finish(turnedU, row, column, mask);
    epilogue.finish(turnedW, row, partner, mask);
  }

  Emitter &e;
  const RotaryCore &core;
  int64_t headSize, half;
  Epilogue epilogue;
  Value x;
  int64_t stride;
  Value frequencies, positions;
};

} // namespace

void lowerRotary(Emitter &e, const RotaryCore &core) {
  RotaryLowering(e, core).lower();
}

void lowerSegmentSub(Emitter &e, const SegmentSubCore &core) {
  Value values = e.pointer(core.values);
  Value base = e.pointer(core.base);
  Value splits = e.pointer(core.rowSplits);
  Value result = e.pointer(e.spec().resultIndex());
  int64_t tile = e.spec().tile.rows;
  Value rows = e.evaluate(e.spec().result().rows);
  Value from = e.mul(e.beginTask(), tile);
  Value to = e.minimum(e.mul(e.endTask(), tile), rows);
  // Segments only go up with the row, so the search goes on from the last.
  e.loop(from, to, 1, Values{e.integer(0)}, [&](Value row, Values carried) {
    Value segment = e.loopWhile(
        carried[0],
        [&](Value s) {
          return e.lessEqual(e.loadI32(splits, e.add(s, 1)), row);
        },
        [&](Value s) { return e.add(s, 1); });
    Value difference = e.sub(e.loadI32(values, row), e.loadI32(base, segment));
    Value narrow = e.builder.create<mlir::arith::TruncIOp>(
        e.where, e.builder.getI32Type(), difference);
    e.store(narrow, result, row);
    return Values{segment};
  });
}

} // namespace betz::cpu
