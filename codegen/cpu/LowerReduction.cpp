//===- LowerReduction.cpp - Sums over rows, heads and elements ------------===//
//
// A task owns its results and walks all rows in order, so the division into
// tasks changes no bits.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/LowerKernel.h"

namespace betz::cpu {

/// Runs `body(first, end)` for the columns of each task of a kernel whose
/// result is cut by columns alone.
static void forTaskColumns(Emitter &e,
                           llvm::function_ref<void(Value, Value)> body) {
  int64_t tile = e.spec().tile.columns;
  e.loop(e.beginTask(), e.endTask(), 1, [&](Value task) {
    Value first = e.mul(task, tile);
    body(first,
         e.minimum(e.add(first, tile), e.integer(e.spec().result().columns)));
  });
}

void lowerColumnSum(Emitter &e, const ColumnSumCore &core) {
  const OperandSpec &operand = e.spec().operands[size_t(core.x)];
  const int64_t chunk = e.spec().plan.rowChunk;
  Value x = e.pointer(core.x), rows = e.evaluate(operand.rows);
  Epilogue epilogue(e);
  // Sums of `vectors` groups of eight columns; a mask only with one.
  auto sumColumns = [&](Value column, int64_t vectors, Value mask) {
    Values zeros(size_t(vectors), e.splat(0));
    Values totals = e.loop(
        e.integer(0), rows, chunk, zeros, [&](Value row, Values carried) {
          Value end = e.minimum(e.add(row, chunk), rows);
          Values partial =
              e.loop(row, end, 1, zeros, [&](Value r, Values sums) {
                Value start = e.add(e.mul(r, operand.rowStride), column);
                for (auto [i, sum] : llvm::enumerate(sums))
                  sum = e.fadd(
                      sum, e.loadMasked(x, e.add(start, int64_t(i) * kLanes),
                                        mask, e.vectorF32()));
                return sums;
              });
          for (auto [total, sum] : llvm::zip_equal(carried, partial))
            total = e.fadd(total, sum);
          return carried;
        });
    for (auto [i, total] : llvm::enumerate(totals))
      epilogue.finish(total, e.integer(0), e.add(column, int64_t(i) * kLanes),
                      mask);
  };
  const int64_t vectors = e.spec().tile.columns / kLanes;
  forTaskColumns(e, [&](Value first, Value end) {
    Value whole = e.lessEqual(e.add(first, vectors * kLanes), end);
    e.when(
        whole, [&] { sumColumns(first, vectors, {}); },
        [&] {
          e.forColumns(first, end, [&](Value column, Value mask) {
            sumColumns(column, 1, mask);
          });
        });
  });
}

void lowerScatterSum(Emitter &e, const ScatterSumCore &core) {
  const OperandSpec &operand = e.spec().operands[size_t(core.x)];
  const OperandSpec &result = e.spec().result();
  Value x = e.pointer(core.x), index = e.pointer(core.index);
  Value sums = e.pointer(e.spec().resultIndex());
  forTaskColumns(e, [&](Value first, Value end) {
    e.loop(e.integer(0), e.evaluate(result.rows), 1, [&](Value row) {
      Value start = e.mul(row, result.rowStride);
      e.forColumns(first, end, [&](Value column, Value mask) {
        e.storeMasked(e.splat(0), sums, e.add(start, column), mask);
      });
    });
    e.loop(e.integer(0), e.evaluate(operand.rows), 1, [&](Value row) {
      Value from = e.mul(row, operand.rowStride);
      Value to = e.mul(e.loadI32(index, row), result.rowStride);
      e.forColumns(first, end, [&](Value column, Value mask) {
        Value at = e.add(to, column);
        Value value = e.loadMasked(x, e.add(from, column), mask, e.vectorF32());
        Value sum = e.loadMasked(sums, at, mask, e.vectorF32());
        e.storeMasked(e.fadd(sum, value), sums, at, mask);
      });
    });
  });
}

void lowerHeadDots(Emitter &e, const HeadDotsCore &core) {
  const OperandSpec &left = e.spec().operands[size_t(core.a)];
  const OperandSpec &right = e.spec().operands[size_t(core.b)];
  Value a = e.pointer(core.a), b = e.pointer(core.b);
  Value result = e.pointer(e.spec().resultIndex());
  const int64_t headSize = left.columns / core.heads;
  forTaskRows(e, [&](Value row) {
    e.loop(e.integer(0), e.integer(core.heads), 1, [&](Value head) {
      Value first = e.mul(head, headSize);
      auto load = [&](Value pointer, int64_t stride, Value column, Value mask) {
        Value at = e.add(e.add(e.mul(row, stride), first), column);
        return e.loadMasked(pointer, at, mask, e.vectorF32());
      };
      Values sums = e.forColumns(
          headSize, {e.splat(0)}, [&](Value column, Value mask, Values sum) {
            return Values{e.fma(load(a, left.rowStride, column, mask),
                                load(b, right.rowStride, column, mask),
                                sum[0])};
          });
      e.store(e.sumLanes(sums[0]), result, e.add(e.mul(row, core.heads), head));
    });
  });
}

void lowerSquareSum(Emitter &e, const SquareSumCore &core) {
  // Of columns: four vectors of partial sums run over a block, whose sum is
  // added in f64.
  constexpr int64_t kVectors = 4, kGroup = kVectors * kLanes, kBlock = 4096;
  const OperandSpec &operand = e.spec().operands[size_t(core.x)];
  Value x = e.pointer(core.x);
  auto addSquare = [&](Value sum, Value at, Value mask) {
    Value value = e.loadMasked(x, at, mask, e.vectorF32());
    return e.fma(value, value, sum);
  };
  auto addBlock = [&](Value total, Value start, Value from, Value to) {
    Values zeros(size_t(kVectors), e.splat(0));
    Values sums =
        e.loop(from, to, kGroup, zeros, [&](Value column, Values sums) {
          for (auto [i, sum] : llvm::enumerate(sums))
            sum = addSquare(
                sum, e.add(e.add(start, column), int64_t(i) * kLanes), {});
          return sums;
        });
    Value sum = e.fadd(e.fadd(sums[0], sums[1]), e.fadd(sums[2], sums[3]));
    return e.fadd(total, e.widen(e.sumLanes(sum)));
  };
  const int64_t whole = operand.columns / kGroup * kGroup;
  auto addRow = [&](Value row, Values carried) {
    Value start = e.mul(row, operand.rowStride);
    carried = e.loop(e.integer(0), e.integer(whole), kBlock, carried,
                     [&](Value column, Values total) {
                       Value end =
                           e.minimum(e.add(column, kBlock), e.integer(whole));
                       return Values{addBlock(total[0], start, column, end)};
                     });
    Value rest = e.add(start, whole);
    Values sums = e.forColumns(
        operand.columns - whole, {e.splat(0)},
        [&](Value column, Value mask, Values sum) {
          return Values{addSquare(sum[0], e.add(rest, column), mask)};
        });
    return Values{e.fadd(carried[0], e.widen(e.sumLanes(sums[0])))};
  };
  e.loop(e.beginTask(), e.endTask(), 1, [&](Value) {
    Values total = e.loop(e.integer(0), e.evaluate(operand.rows), 1,
                          {e.real64(0)}, addRow);
    e.store(e.narrow(total[0]), e.pointer(e.spec().resultIndex()),
            e.integer(0));
  });
}

} // namespace betz::cpu
