// KernelSpecs that the tests of CUDA code share.
#pragma once

#include "codegen/common/KernelSpec.h"

namespace betz {

/// Of attentionSpec: two tiles of 128, or three of 64, the last not whole.
inline constexpr int64_t kTestQueries = 150;

inline OperandSpec batchRows(int64_t factor, int64_t columns,
                             DType dtype = DType::BF16) {
  return {dtype, {0, factor, 0}, columns, columns, 0};
}
inline OperandSpec constant(int64_t rows, int64_t columns,
                            DType dtype = DType::BF16) {
  return {dtype, Dim::constant(rows), columns, columns, 0};
}
inline OperandSpec events(int64_t columns, DType dtype = DType::BF16) {
  return {dtype, {1, 1, 0}, columns, columns, 0};
}

inline KernelSpec emptySpec() {
  KernelSpec spec;
  spec.symbols = {"batch", "events"};
  return spec;
}

/// x * w, a factor a row (operand 4: sums of squares where they divide the
/// depth, else the factor itself), bias, GELU, residual; sums of squares where
/// they divide the columns.
inline KernelSpec matmulSpec(int64_t depth, int64_t columns, DType dtype) {
  using Kind = EpilogueStep::Kind;
  const bool summed = depth % 32 == 0;
  KernelSpec spec = emptySpec();
  spec.operands = {batchRows(256, depth, dtype),
                   constant(columns, depth, dtype),
                   constant(1, columns, dtype),
                   batchRows(256, columns, dtype),
                   batchRows(256, summed ? depth / 32 : 1, DType::F32),
                   batchRows(256, columns, dtype)};
  spec.operands[1].constant = true;
  spec.core = MatmulCore{0, 1, depth, columns, 0};
  if (summed)
    spec.rowScale = RowScaleSpec{NormForm::Rms, 1e-5, 4};
  spec.epilogue = {{Kind::ScaleRows, summed ? -1 : 4},
                   {Kind::Add, 2},
                   {Kind::Gelu, -1},
                   {Kind::Add, 3}};
  if (columns % 32 == 0) {
    spec.squareGroup = 32;
    spec.operands.push_back(batchRows(256, columns / 32, DType::F32));
  }
  return spec;
}

inline KernelSpec attentionSpec(int64_t heads, int64_t size, bool ragged,
                                DType dtype) {
  KernelSpec spec = emptySpec();
  AttentionCore core;
  core.q = 0, core.k = 1, core.v = 2;
  core.heads = core.kvHeads = heads;
  core.headSize = size;
  core.queries = kTestQueries;
  core.scale = 0.125;
  core.batchSymbol = 0;
  OperandSpec kv =
      ragged ? events(heads * size, dtype) : batchRows(70, heads * size, dtype);
  kv.rowStride = 2 * heads * size;
  spec.operands = {constant(kTestQueries, heads * size, dtype), kv, kv};
  core.sharedQuery = true;
  if (ragged) {
    core.rowSplits = 3, core.keyTime = 4, core.bounds = 5;
    core.sparsity = SparsityRule::TimeBounds;
    spec.operands.push_back({DType::I32, {0, 1, 1}, 1, 1, 0});
    spec.operands.push_back(events(1, DType::I32));
    spec.operands.push_back(constant(kTestQueries, 2, DType::I32));
  } else {
    core.keys = 70;
    core.blockMap = 3, core.mapBlock = 64, core.mapColumns = 2;
    core.sparsity = SparsityRule::BlockMap;
    spec.operands.push_back(constant(3, 2, DType::I32));
  }
  spec.operands.push_back(batchRows(kTestQueries, heads * size, dtype));
  spec.core = core;
  return spec;
}

} // namespace betz
