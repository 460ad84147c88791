//===- KernelSpec.h - A fused kernel as plain data ------------------------===//
//
// Everything a code generator needs to know of one launch, without MLIR: CPU
// and CUDA code are functions of it, and it travels inside the Program as JSON
// so that a machine without the compiler can re-tune and rebuild.
//
// A kernel computes
//   result = epilogue(core(prologue(operands)))
// where `core` gives it its family, `prologue` normalises the rows that a
// matmul reads, and the epilogue's steps run on each element of the result.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Json.h"
#include "runtime/program/Program.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace betz {

/// How one operand lies in memory: rows of `columns` elements, `rowStride`
/// apart, the first at `offset` elements from the operand's base pointer.
/// `rows` counts all leading dimensions together; for ragged and batched
/// operands it follows a symbol.
struct OperandSpec {
  DType dtype = DType::F32;
  Dim rows;
  int64_t columns = 1;
  int64_t rowStride = 1;
  int64_t offset = 0;
  /// Nothing in a step writes it.
  bool constant = false;

  bool isContiguous() const { return offset == 0 && rowStride == columns; }
  bool operator==(const OperandSpec &) const = default;
};

enum class NormForm : uint8_t { Layer, Rms };

/// The factor of a row's norm: 1 / sqrt(variance or mean square + eps).
struct RowScaleSpec {
  NormForm form = NormForm::Rms;
  double eps = 1e-5;
  /// Operand with the row's sums of squares, as KernelSpec::squareGroup leaves
  /// them; -1 to measure the row.
  int32_t squares = -1;

  bool operator==(const RowScaleSpec &) const = default;
};

/// Normalisation of rows: over all columns, two passes in f32.
struct NormSpec {
  NormForm form = NormForm::Layer;
  double eps = 1e-5;
  int32_t gain = -1;  // operand
  int32_t shift = -1; // operand, or -1

  bool operator==(const NormSpec &) const = default;
};

/// Rows times packed panels of a weight (betz.pack_panels).
struct MatmulCore {
  int32_t x = -1, weight = -1;
  int64_t depth = 0;   // K
  int64_t columns = 0; // N
  int64_t panel = 0;   // columns of a panel

  bool operator==(const MatmulCore &) const = default;
};

/// As #betz.sparsity; a rule includes the ones before it.
enum class SparsityRule : uint8_t {
  Dense,
  Causal,
  Segments,
  TimeBounds,
  BlockMap
};

/// betz.attention; operand numbers, -1 where absent.
struct AttentionCore {
  int32_t q = -1, k = -1, v = -1;
  int32_t rowSplits = -1, keyTime = -1, bounds = -1;
  int64_t heads = 1, kvHeads = 1, headSize = 0;
  int64_t queries = 0; // a batch element
  int64_t keys = 0;    // a batch element; 0 if ragged
  bool sharedQuery = false;
  bool causal = false;
  double scale = 1;
  int32_t batchSymbol = -1;
  /// Keys are seen by whole blocks of `mapBlock` queries and keys.
  int32_t blockMap = -1;
  int64_t mapBlock = 0, mapColumns = 0;
  /// The rule by which blocks may be skipped; set by annotate-sparsity.
  SparsityRule sparsity = SparsityRule::Dense;

  bool operator==(const AttentionCore &) const = default;
};

struct NormCore {
  int32_t x = -1;
  NormSpec norm;

  bool operator==(const NormCore &) const = default;
};

/// The row scale of each row of an operand.
struct NormScaleCore {
  int32_t x = -1;
  RowScaleSpec scale;

  bool operator==(const NormScaleCore &) const = default;
};

/// Sums of table rows, or with `reduce` only the row scale of each sum.
struct GatherCore {
  std::vector<int32_t> indices, tables;
  std::optional<RowScaleSpec> reduce;

  bool operator==(const GatherCore &) const = default;
};

/// Reads one operand element by element.
struct IdentityCore {
  int32_t x = -1;

  bool operator==(const IdentityCore &) const = default;
};

struct RotaryCore {
  int32_t x = -1;
  int32_t position = -1; // operand, or -1: the row's index modulo `period`
  int64_t heads = 1;
  int64_t rowsPerItem = 0; // rows after which absent positions start again
  double offset = 0, step = 1, periodMin = 1, periodMax = 1;

  bool operator==(const RotaryCore &) const = default;
};

/// Turns for each unit of time of the pairs (i, i + pairs) of a head, in f64.
std::vector<double> rotaryFrequencies(const RotaryCore &core, int64_t pairs);

struct SegmentSubCore {
  int32_t values = -1, base = -1, rowSplits = -1;

  bool operator==(const SegmentSubCore &) const = default;
};

//===----------------------------------------------------------------------===//
// What gradients and training steps add
//===----------------------------------------------------------------------===//

/// betz.contract_rows: result[n][k] is the sum over rows r of a[r][n] b[r][k].
struct ContractRowsCore {
  int32_t a = -1, b = -1;

  bool operator==(const ContractRowsCore &) const = default;
};

/// betz.column_sum: the sum of all rows.
struct ColumnSumCore {
  int32_t x = -1;

  bool operator==(const ColumnSumCore &) const = default;
};

/// betz.scatter_sum: row r of the result is the sum of the rows of `x` whose
/// index is r; indices outside the result's rows do not occur.
struct ScatterSumCore {
  int32_t index = -1, x = -1;

  bool operator==(const ScatterSumCore &) const = default;
};

/// betz.norm_grad: from the norm's input, its gain and the gradient of its
/// result to the gradient of its input.
struct NormGradCore {
  int32_t x = -1, gain = -1, dy = -1;
  RowScaleSpec scale;

  bool operator==(const NormGradCore &) const = default;
};

/// Which of attention's backward ops: attention_lse (f32 [B, L, heads]),
/// attention_grad_q ([B, L, heads * d]) or attention_grad_kv (dk and dv side by
/// side, [rows of k, 2 * kv_heads * d]).
enum class AttentionPart : uint8_t { LogSum, QueryGrad, KeyValueGrad };

struct AttentionGradCore {
  AttentionPart part = AttentionPart::LogSum;
  /// The attention whose backward it is; `v` is -1 for LogSum.
  AttentionCore forward;
  /// Gradient of the attention's result, its attention_lse, and the head_dots
  /// of its result and that gradient; -1 for LogSum.
  int32_t dout = -1, lse = -1, delta = -1;

  bool operator==(const AttentionGradCore &) const = default;
};

/// betz.head_dots: for each row and head the dot product of two rows' parts.
struct HeadDotsCore {
  int32_t a = -1, b = -1;
  int64_t heads = 1;

  bool operator==(const HeadDotsCore &) const = default;
};

/// betz.join_columns: parts lie at their columns of the result, with zeros
/// between them. Vectors are rows.
struct JoinCore {
  std::vector<int32_t> parts;
  std::vector<int64_t> columns; // where each begins, ascending

  bool operator==(const JoinCore &) const = default;
};

enum class LossKind : uint8_t { Mse, CrossEntropy };

/// The mean loss of all rows, f32[1], or its gradient by `x`. `target` holds
/// numbers as `x` does (Mse) or an i32 label a row; a row whose label is
/// negative does not count.
struct LossCore {
  LossKind kind = LossKind::Mse;
  int32_t x = -1, target = -1;
  /// Of the gradient: the gradient of the loss, f32[1]; -1 for the loss.
  int32_t dloss = -1;

  bool operator==(const LossCore &) const = default;
};

/// betz.square_sum: the sum of the squares of all elements, f32[1].
struct SquareSumCore {
  int32_t x = -1;

  bool operator==(const SquareSumCore &) const = default;
};

/// betz.adamw on flat f32 vectors. The last three operands are the results,
/// which may be the memory of `weights`, `moment1` and `moment2`: an element is
/// read before it is written, by one task.
struct AdamwCore {
  int32_t weights = -1, moment1 = -1, moment2 = -1;
  int32_t gradient = -1, squares = -1, schedule = -1;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weightDecay = 0;
  double clip = 0; // 0: the gradient is not clipped

  bool operator==(const AdamwCore &) const = default;
};

/// A weight as a matmul reads it: transposed, in panels of `panel` columns
/// (betz.pack_panels), or both. 0: no panels.
struct PackCore {
  int32_t x = -1;
  bool transposed = false;
  int64_t panel = 0;

  bool operator==(const PackCore &) const = default;
};

struct FillCore {
  double value = 0;

  bool operator==(const FillCore &) const = default;
};

using Core =
    std::variant<MatmulCore, AttentionCore, NormCore, GatherCore, IdentityCore,
                 RotaryCore, SegmentSubCore, NormScaleCore, ContractRowsCore,
                 ColumnSumCore, ScatterSumCore, NormGradCore, AttentionGradCore,
                 HeadDotsCore, JoinCore, LossCore, SquareSumCore, AdamwCore,
                 PackCore, FillCore>;

/// A step on each element of the result. Binary steps read another operand at
/// the same place; one with fewer rows is repeated.
struct EpilogueStep {
  enum class Kind : uint8_t {
#define BETZ_ELEMENTWISE(name, mnemonic, operands) name,
#include "codegen/common/ElementwiseOps.def"
  } kind{};
  /// Of a binary step. A scale_rows step with -1 takes KernelSpec::rowScale; a
  /// dropout step has its seed there.
  int32_t operand = -1;
  /// Whether the op's first operand is the one in memory.
  bool swapped = false;
  /// Of a dropout step.
  double rate = 0;
  int64_t site = 0;

  bool operator==(const EpilogueStep &) const = default;
};

/// What a row of ElementwiseOps.def says.
struct ElementwiseOp {
  std::string_view mnemonic;
  int operands;
};
const ElementwiseOp &describe(EpilogueStep::Kind kind);
/// The inverse by mnemonic; nothing for an op that is no step.
std::optional<EpilogueStep::Kind> findElementwise(std::string_view mnemonic);

/// The order of every sum, so that a window's result has the same bits in any
/// bucket and at any place in a batch. Two kernels with equal plans and equal
/// values give equal bits.
struct ReductionPlan {
  /// Matmul: products are added in the order of k (16 at a time by tensor
  /// cores), in chunks of this many.
  int64_t depthChunk = 0;
  /// Row statistics: this many partial sums, lane i adding columns i, i + n...
  int64_t statisticLanes = 0;
  /// Attention: keys are taken in blocks of this many from the window's first.
  int64_t keyBlock = 0;
  /// Sums over rows: so many rows make a partial sum, and these are added in
  /// order; 0: one row after another.
  int64_t rowChunk = 0;

  bool operator==(const ReductionPlan &) const = default;
};

/// How the work is cut; never changes bits.
struct TileConfig {
  int64_t rows = 0;    // rows of one task
  int64_t columns = 0; // columns of one task
  int64_t depth = 0;   // K elements of one pipeline stage; 0 without stages
  int64_t stages = 0;  // stages of the pipeline

  bool operator==(const TileConfig &) const = default;
};

struct KernelSpec {
  std::vector<std::string> symbols; // of the extents, in the ABI's order
  /// Inputs, the results, and with `squareGroup` the result's sums of squares.
  std::vector<OperandSpec> operands;
  Core core;
  std::optional<NormSpec> prologue;
  /// Of the rows that a matmul reads, for a scale_rows step.
  std::optional<RowScaleSpec> rowScale;
  std::vector<EpilogueStep> epilogue;
  /// A matmul may leave the sum of squares of every so many columns of its
  /// result in the last operand; 0 without.
  int64_t squareGroup = 0;
  ReductionPlan plan;
  TileConfig tile;

  const OperandSpec &result() const { return operands[size_t(resultIndex())]; }
  /// Of the first result.
  int32_t resultIndex() const {
    const bool isUpdate = std::holds_alternative<AdamwCore>(core);
    return int32_t(operands.size()) - (isUpdate ? 3 : squareGroup > 0 ? 2 : 1);
  }
  /// Of the sums of squares, with `squareGroup`.
  int32_t squaresIndex() const { return int32_t(operands.size()) - 1; }
  bool operator==(const KernelSpec &) const = default;
};

/// "matmul", "attention", "row", "gather", "elementwise", or one of those that
/// gradients add: "contraction", "reduction", "loss", "optimizer", "layout".
std::string_view familyName(const KernelSpec &spec);

/// A name for the code: family, fused steps, sizes, and 8 hex digits of the
/// spec's hash. Equal specs share it; it is a C identifier.
std::string codeName(const KernelSpec &spec);

/// The tasks that the spec's tile cuts a step into.
TaskSpace taskSpace(const KernelSpec &spec);

/// Floating-point operations (a multiply-add is two) and bytes that must cross
/// memory (each operand once) for the given extents. Ragged attention counts
/// every key of a window for every query.
struct KernelWork {
  double flops = 0;
  double bytes = 0;
};
KernelWork estimateWork(const KernelSpec &spec,
                        std::span<const int64_t> extents);

/// Code generators index with a spec's operand and symbol numbers: the error if
/// one is out of range.
Status checkNumbers(const KernelSpec &spec);

Json toJson(const KernelSpec &spec);
/// The error names the member that is missing or wrong.
Result<KernelSpec> kernelSpecFromJson(const Json &json);

} // namespace betz
