//===- LowerKernel.h - KernelSpec to a function, family by family ---------===//
#pragma once

#include "codegen/cpu/Emitter.h"

#include <functional>

namespace betz::cpu {

/// Picks the tile and the reduction plan of a spec whose operands and core are
/// set: what CPU code is then generated for.
void chooseTile(KernelSpec &spec);

/// Emits the kernel `name`; the spec must have passed chooseTile.
Status lowerKernel(Emitter &e, llvm::StringRef name, const KernelSpec &spec);

// One function a family, in Lower<Family>.cpp. Each emits the whole body for
// tasks [begin, end).
void lowerMatmul(Emitter &e, const MatmulCore &core);
void lowerAttention(Emitter &e, const AttentionCore &core);
void lowerNorm(Emitter &e, const NormCore &core);
void lowerNormScale(Emitter &e, const NormScaleCore &core);
void lowerGather(Emitter &e, const GatherCore &core);
void lowerIdentity(Emitter &e, const IdentityCore &core);
void lowerRotary(Emitter &e, const RotaryCore &core);
void lowerSegmentSub(Emitter &e, const SegmentSubCore &core);
void lowerContractRows(Emitter &e, const ContractRowsCore &core);
void lowerColumnSum(Emitter &e, const ColumnSumCore &core);
void lowerScatterSum(Emitter &e, const ScatterSumCore &core);
void lowerNormGrad(Emitter &e, const NormGradCore &core);
void lowerAttentionGrad(Emitter &e, const AttentionGradCore &core);
void lowerHeadDots(Emitter &e, const HeadDotsCore &core);
void lowerJoin(Emitter &e, const JoinCore &core);
void lowerLoss(Emitter &e, const LossCore &core);
void lowerSquareSum(Emitter &e, const SquareSumCore &core);
void lowerAdamw(Emitter &e, const AdamwCore &core);
void lowerPack(Emitter &e, const PackCore &core);
void lowerFill(Emitter &e, const FillCore &core);

/// Runs `body(row)` for the rows of each task of a kernel that is cut by rows
/// alone.
void forTaskRows(Emitter &e, llvm::function_ref<void(Value)> body);

/// The epilogue, applied to a vector of columns of one row at a time.
class Epilogue {
public:
  explicit Epilogue(Emitter &e);
  /// A row's own scale, f32, for steps that take KernelSpec::rowScale.
  std::function<Value(Value row)> ownScale;
  /// `value` stands at (row, column); a mask limits what is read.
  Value apply(Value value, Value row, Value column, Value mask);
  /// Applies and stores into the result.
  void finish(Value value, Value row, Value column, Value mask);

private:
  Emitter &e;
  Values pointers; // one a step; null for steps without an operand
  Value result;
};

/// Statistics of rows in memory. Two passes: mean, then squared distance from
/// it.
class RowStatistics {
public:
  RowStatistics(Emitter &e, RowScaleSpec scale, Value pointer, int64_t stride,
                int64_t columns)
      : e(e), spec(scale), x(pointer), stride(stride), columns(columns) {}
  struct Moments {
    Value mean;  // 8 lanes; null for RMS
    Value scale; // f32: 1 / sqrt(variance + eps)
  };
  Moments measure(Value row);
  Value load(Value row, Value column, Value mask);

private:
  Emitter &e;
  RowScaleSpec spec;
  Value x;
  int64_t stride, columns;
};

/// Normalises row after row.
class RowNorm {
public:
  RowNorm(Emitter &e, const NormSpec &norm, int32_t x, int64_t columns);
  RowStatistics::Moments measure(Value row) { return statistics.measure(row); }
  Value normalise(const RowStatistics::Moments &moments, Value row,
                  Value column, Value mask);

private:
  Emitter &e;
  RowStatistics statistics;
  Value gain, shift;
};

/// One vector of the right matrix's columns: the element index of its first
/// lane in row 0, and what may be read of it (null: all).
struct MicroColumns {
  Value start, mask;
};

/// A row of the left matrix: the element index of its first element, and a
/// constant to add. Rows of one start are reached from one register.
struct MicroRow {
  Value start;
  int64_t offset = 0;
};

/// The register block: sums of products over `depth`, from rows of A and
/// vectors of B whose row k lies `k * bStride` elements on. `initial` holds a
/// sum for each row and each of its vectors.
struct MicroBlock {
  Value a; // pointer
  llvm::SmallVector<MicroRow> rows;
  Value b; // pointer
  llvm::SmallVector<MicroColumns> columns;
  int64_t bStride = 0;
  /// If set, row k touches the element `prefetch + k * prefetchStride` of B for
  /// the second-level cache.
  Value prefetch;
  int64_t prefetchStride = 0;
};
Values emitMicroBlock(Emitter &e, const MicroBlock &block, Value depth,
                      Values initial);

/// Calls `body(rows, whole)` for blocks of rows that cover [first, end): as
/// many as the level's register block holds, then small ones, whose last rows
/// may lie past the end.
void forRowBlocks(Emitter &e, Value first, Value end,
                  llvm::function_ref<void(const Values &, bool whole)> body);

/// Rows for a MicroBlock that lie `stride` elements apart. Those of a whole
/// block are reached from `start` of the first, others each from its own.
llvm::SmallVector<MicroRow> microRows(const Values &rows, bool whole,
                                      int64_t stride,
                                      llvm::function_ref<Value(Value)> start);

/// Vectors over `count` columns of packed panels of `depth` rows; `start` is
/// the element index of the first column.
llvm::SmallVector<MicroColumns> panelColumns(Emitter &e, Value start,
                                             int64_t count, int64_t depth);

/// Register blocks over the columns [0, columns): whole ones, then what is
/// left.
void forColumnBlocks(Emitter &e, int64_t columns,
                     llvm::function_ref<void(Value, int64_t)> body);

/// Stores `rows` rows of `source`, a multiple of 8, transposed: eight rows from
/// `row` on of one column go to the element `place(row, column)` of `target`
/// and the ones behind it. `start` is where row `row` of the source begins.
/// Columns up to a multiple of 8 are stored, zeros past the end.
void transposeRows(Emitter &e, Value source,
                   llvm::function_ref<Value(Value row)> start, int64_t rows,
                   Value firstColumn, Value endColumn, Value target,
                   llvm::function_ref<Value(Value row, Value column)> place);

/// Columns of a panel.
inline constexpr int64_t kMicroColumns = 16;

/// `columns` in whole panels.
inline int64_t paddedToPanels(int64_t columns) {
  return (columns + kMicroColumns - 1) / kMicroColumns * kMicroColumns;
}

/// Columns of the register block.
inline int64_t blockColumns(const IsaLevel &level) {
  return level.microPanels * kMicroColumns;
}

} // namespace betz::cpu
