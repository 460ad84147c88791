// KernelSpecs of training steps that the tests of CUDA code share.
#pragma once

#include "tests/codegen/CudaSpecs.h"

namespace betz {

/// The spec of `core` on `operands`, the results last.
inline KernelSpec trainingSpec(Core core, std::vector<OperandSpec> operands,
                               std::vector<EpilogueStep> epilogue = {}) {
  KernelSpec spec = emptySpec();
  spec.core = std::move(core);
  spec.operands = std::move(operands);
  spec.epilogue = std::move(epilogue);
  return spec;
}

/// `a` is a slice of rows that are twice as long.
inline KernelSpec contractSpec(int64_t rows, int64_t columns, DType dtype,
                               int64_t rowsOfWindow) {
  OperandSpec a = batchRows(rowsOfWindow, rows, dtype);
  a.rowStride = 2 * rows, a.offset = rows;
  return trainingSpec(ContractRowsCore{0, 1},
                      {a, batchRows(rowsOfWindow, columns, dtype),
                       constant(rows, columns, DType::F32)});
}

inline KernelSpec columnSumSpec(int64_t columns, DType dtype,
                                int64_t rowsOfWindow) {
  return trainingSpec(ColumnSumCore{0},
                      {batchRows(rowsOfWindow, columns, dtype),
                       constant(1, columns, DType::F32)});
}

inline KernelSpec scatterSpec(int64_t rows, int64_t columns, DType dtype) {
  return trainingSpec(ScatterSumCore{0, 1},
                      {events(1, DType::I32), events(columns, dtype),
                       constant(rows, columns, DType::F32)});
}

inline KernelSpec normGradSpec(NormForm form, int64_t columns, DType dtype) {
  return trainingSpec(
      NormGradCore{0, 1, 2, {form, 1e-5}},
      {batchRows(5, columns, dtype), constant(1, columns, dtype),
       batchRows(5, columns, dtype), batchRows(5, columns, dtype)});
}

inline KernelSpec headDotsSpec(int64_t heads, int64_t size, DType dtype) {
  return trainingSpec(HeadDotsCore{0, 1, heads},
                      {batchRows(7, heads * size, dtype),
                       batchRows(7, heads * size, dtype),
                       batchRows(7, heads, DType::F32)});
}

/// Columns [0, 24), [32, 72) and [72, 75) of 80.
inline KernelSpec joinSpec(DType dtype) {
  return trainingSpec(JoinCore{{0, 1, 2}, {0, 32, 72}},
                      {batchRows(6, 24, dtype), batchRows(6, 40, dtype),
                       batchRows(6, 3, dtype), batchRows(6, 80, dtype)});
}

/// Vectors that begin at multiples of 64 of one of 4160.
inline KernelSpec joinVectorsSpec() {
  return trainingSpec(JoinCore{{0, 1, 2, 3}, {0, 64, 192, 4096}},
                      {constant(1, 7, DType::F32), constant(1, 65, DType::F32),
                       constant(1, 3900, DType::F32),
                       constant(1, 64, DType::F32),
                       constant(1, 4160, DType::F32)});
}

inline KernelSpec mseSpec(int64_t columns, bool isGradient) {
  const OperandSpec x = batchRows(11, columns, DType::F32);
  const OperandSpec number = constant(1, 1, DType::F32);
  if (!isGradient)
    return trainingSpec(LossCore{LossKind::Mse, 0, 1, -1}, {x, x, number});
  return trainingSpec(LossCore{LossKind::Mse, 0, 1, 2}, {x, x, number, x});
}

inline KernelSpec crossEntropySpec(int64_t classes, bool isGradient) {
  const OperandSpec x = batchRows(40, classes, DType::F32);
  const OperandSpec label = batchRows(1, 40, DType::I32);
  const OperandSpec number = constant(1, 1, DType::F32);
  if (!isGradient)
    return trainingSpec(LossCore{LossKind::CrossEntropy, 0, 1, -1},
                        {x, label, number});
  return trainingSpec(LossCore{LossKind::CrossEntropy, 0, 1, 2},
                      {x, label, number, x});
}

inline KernelSpec squareSumSpec(int64_t rows, int64_t columns) {
  return trainingSpec(SquareSumCore{0}, {constant(rows, columns, DType::F32),
                                         constant(1, 1, DType::F32)});
}

inline KernelSpec adamwSpec(int64_t size, double clip) {
  AdamwCore core{0, 1, 2, 3, 4, 5, 0.9, 0.98, 1e-8, 0.1, clip};
  const OperandSpec all = constant(1, size, DType::F32);
  return trainingSpec(core, {all, all, all, all, constant(1, 1, DType::F32),
                             constant(1, 4, DType::F32), all, all, all});
}

inline KernelSpec transposeSpec(int64_t rows, int64_t columns, DType dtype) {
  return trainingSpec(PackCore{0, true, 0}, {constant(rows, columns, dtype),
                                             constant(columns, rows, dtype)});
}

inline KernelSpec fillSpec(int64_t columns, DType dtype) {
  return trainingSpec(FillCore{0.75}, {batchRows(3, columns, dtype)});
}

/// x, then one step that reads `other` where it takes two operands.
inline KernelSpec stepSpec(EpilogueStep::Kind kind, bool swapped,
                           int64_t columns, DType dtype) {
  const bool isBinary = describe(kind).operands == 2;
  const OperandSpec x = batchRows(9, columns, dtype);
  return trainingSpec(IdentityCore{0}, {x, x, x},
                      {{kind, isBinary ? 1 : -1, swapped}});
}

inline KernelSpec dropoutSpec(int64_t columns, DType dtype) {
  const OperandSpec x = batchRows(9, columns, dtype);
  return trainingSpec(IdentityCore{0}, {x, constant(1, 2, DType::I32), x},
                      {{EpilogueStep::Kind::Dropout, 1, false, 0.25, 7}});
}

/// An attention whose gradients are tested.
struct GradCase {
  enum Keys { Ragged, Mapped, Causal } keys;
  int64_t heads, kvHeads, size;
  bool sharedQuery;
  DType dtype;
};

/// Operands: q, k, v; splits, times and bounds (Ragged) or the map (Mapped);
/// without LogSum the result's gradient, lse and delta; the result.
inline KernelSpec attentionGradSpec(const GradCase &c, AttentionPart part) {
  AttentionGradCore core;
  core.part = part;
  AttentionCore &forward = core.forward;
  forward.q = 0, forward.k = 1;
  forward.v = part == AttentionPart::LogSum ? -1 : 2;
  forward.heads = c.heads, forward.kvHeads = c.kvHeads;
  forward.headSize = c.size;
  forward.queries = kTestQueries;
  forward.scale = 0.125;
  forward.batchSymbol = 0;
  forward.sharedQuery = c.sharedQuery;
  const int64_t width = c.heads * c.size, kvWidth = c.kvHeads * c.size;
  const bool ragged = c.keys == GradCase::Ragged;
  OperandSpec kv =
      ragged ? events(kvWidth, c.dtype) : batchRows(70, kvWidth, c.dtype);
  kv.rowStride = 2 * kvWidth;
  OperandSpec v = kv;
  v.offset = kvWidth;
  const OperandSpec rows = batchRows(kTestQueries, width, c.dtype);
  std::vector<OperandSpec> operands = {
      c.sharedQuery ? constant(kTestQueries, width, c.dtype) : rows, kv, v};
  if (ragged) {
    forward.rowSplits = 3, forward.keyTime = 4, forward.bounds = 5;
    forward.sparsity = SparsityRule::TimeBounds;
    operands.push_back({DType::I32, {0, 1, 1}, 1, 1, 0});
    operands.push_back(events(1, DType::I32));
    operands.push_back(constant(kTestQueries, 2, DType::I32));
  } else {
    forward.keys = 70;
    forward.causal = c.keys == GradCase::Causal;
    forward.sparsity = SparsityRule::Causal;
  }
  if (c.keys == GradCase::Mapped) {
    forward.blockMap = 3, forward.mapBlock = 64, forward.mapColumns = 2;
    forward.sparsity = SparsityRule::BlockMap;
    operands.push_back(constant(3, 2, DType::I32));
  }
  const OperandSpec numbers = batchRows(kTestQueries, c.heads, DType::F32);
  if (part == AttentionPart::LogSum) {
    operands.push_back(numbers);
    return trainingSpec(core, operands);
  }
  core.dout = int32_t(operands.size());
  core.lse = core.dout + 1, core.delta = core.dout + 2;
  operands.insert(operands.end(), {rows, numbers, numbers});
  if (part == AttentionPart::KeyValueGrad) {
    operands.push_back(kv);
    operands.back().columns = operands.back().rowStride = 2 * kvWidth;
  } else {
    operands.push_back(rows);
  }
  return trainingSpec(core, operands);
}

/// Every visibility, sharing and type; head sizes of every path.
inline std::vector<GradCase> gradCases() {
  return {{GradCase::Ragged, 8, 8, 64, true, DType::BF16},
          {GradCase::Ragged, 4, 2, 128, false, DType::BF16},
          {GradCase::Ragged, 2, 1, 32, true, DType::BF16},
          {GradCase::Mapped, 4, 2, 64, false, DType::BF16},
          {GradCase::Mapped, 2, 2, 16, true, DType::BF16},
          {GradCase::Causal, 2, 1, 64, false, DType::BF16},
          {GradCase::Causal, 2, 2, 96, true, DType::BF16},
          {GradCase::Ragged, 4, 2, 24, false, DType::F32},
          {GradCase::Mapped, 2, 1, 64, true, DType::F32},
          {GradCase::Causal, 4, 4, 5, false, DType::F32}};
}

} // namespace betz
