//===- Transpose.cpp - Rows of memory laid out as columns -----------------===//
#include "codegen/cpu/LowerKernel.h"

namespace betz::cpu {

/// Eight vectors of eight, exchanged across halves, quarters, neighbours.
static void transposeBlock(Emitter &e, Values &block) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < kLanes; ++i) {
      if (i & half)
        continue;
      Value a = block[size_t(i)], b = block[size_t(i | half)];
      llvm::SmallVector<int32_t> low, high;
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        bool upper = lane & half;
        low.push_back(int32_t(upper ? kLanes + (lane ^ half) : lane));
        high.push_back(int32_t(upper ? kLanes + lane : lane | half));
      }
      block[size_t(i)] =
          e.builder.create<mlir::LLVM::ShuffleVectorOp>(e.where, a, b, low);
      block[size_t(i | half)] =
          e.builder.create<mlir::LLVM::ShuffleVectorOp>(e.where, a, b, high);
    }
}

void transposeRows(Emitter &e, Value source,
                   llvm::function_ref<Value(Value)> start, int64_t rows,
                   Value firstColumn, Value endColumn, Value target,
                   llvm::function_ref<Value(Value, Value)> place) {
  e.loop(e.integer(0), e.integer(rows), kLanes, [&](Value group) {
    Values starts;
    for (int64_t i = 0; i < kLanes; ++i)
      starts.push_back(start(e.add(group, i)));
    e.forColumns(firstColumn, endColumn, [&](Value column, Value mask) {
      Values block;
      for (Value start : starts)
        block.push_back(
            e.loadMasked(source, e.add(start, column), mask, e.vectorF32()));
      transposeBlock(e, block);
      for (auto [i, vector] : llvm::enumerate(block))
        e.store(vector, target, place(group, e.add(column, int64_t(i))));
    });
  });
}

} // namespace betz::cpu
