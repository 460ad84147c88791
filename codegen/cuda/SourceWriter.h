//===- SourceWriter.h - One translation unit of CUDA text -----------------===//
//
// A family adds members to the unit's `Spec`, says how they are set, and names
// its header and the call that is the kernel's body. Families lie in files of
// their own: MatmulSource.cpp, AttentionSource.cpp, RowSource.cpp,
// ReductionSource.cpp and ElementSource.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/Paths.h"

namespace betz::cuda {

/// The type's name in kernels; empty for one that they do not take.
std::string_view typeName(DType dtype);

/// Writes the source of one kernel. Single use; the arguments must live longer.
class SourceWriter {
public:
  SourceWriter(const std::string &name, const KernelSpec &spec, Path path,
               bool isHopper);

  /// The error says what the spec has that the path does not take.
  Result<std::string> write();

private:
  // What families put into Spec.
  const OperandSpec &operand(int32_t number) const {
    return spec.operands[size_t(number)];
  }
  std::string type(int32_t number) const;
  static std::string boolText(bool value);
  /// A typed pointer to an operand's first element.
  std::string pointer(int32_t number) const;
  void constant(std::string_view what, int64_t value);
  void flag(std::string_view what, bool value);
  void real(std::string_view what, double value);
  /// A member that points at an operand; set in the kernel's body.
  void field(std::string_view what, int32_t number);
  /// The same for what the kernel writes.
  void resultField(std::string_view what, int32_t number);
  void rowsFunction(std::string_view what, const Dim &dim);
  /// `what(values, row, column, valid)`: columns of an operand's row.
  void loader(std::string_view what, std::string_view from, int32_t number);
  /// `what(row, column)`: an element of an operand.
  void writeElementLoader(std::string_view what, std::string_view from,
                          int32_t number);
  /// A vector that every row shares; zeros for an absent one.
  void writeVector(std::string_view what, std::string_view from,
                   int32_t number);
  void useShared(int64_t bytes);
  /// The error if an operand that kernels index by elements has gaps.
  Status checkDense(int32_t number, std::string_view what) const;

  // Families.
  Status writeCore(const MatmulCore &core);
  Status writeCore(const AttentionCore &core);
  Status writeCore(const NormCore &core);
  Status writeCore(const NormScaleCore &core);
  Status writeCore(const GatherCore &core);
  Status writeCore(const IdentityCore &core);
  Status writeCore(const RotaryCore &core);
  Status writeCore(const SegmentSubCore &core);
  Status writeCore(const ContractRowsCore &core);
  Status writeCore(const ColumnSumCore &core);
  Status writeCore(const ScatterSumCore &core);
  Status writeCore(const NormGradCore &core);
  Status writeCore(const AttentionGradCore &core);
  Status writeCore(const HeadDotsCore &core);
  Status writeCore(const JoinCore &core);
  Status writeCore(const LossCore &core);
  Status writeCore(const SquareSumCore &core);
  Status writeCore(const AdamwCore &core);
  Status writeCore(const PackCore &core);
  Status writeCore(const FillCore &core);

  /// Sums of squares that a matmul reads or leaves.
  Status writeSquares();
  void writeMatmulTile(const MatmulCore &core);
  void writeMatmulTma(const MatmulCore &core);

  /// What visibility.cuh reads, and the tensors.
  void writeView(const AttentionCore &core);
  bool isTensorPath() const;
  /// `grad` is null for the attention itself.
  void writeTileOperands(const AttentionCore &core,
                         const AttentionGradCore *grad);
  void writeAttentionTile(const AttentionCore &core,
                          const AttentionGradCore *grad);
  void writeAttentionKeyGrad(const AttentionGradCore &core);
  void beginAttentionSimt(const AttentionCore &core);
  void writeAttentionGradSimt(const AttentionGradCore &core);

  /// Blocks that share a task of a sum over many rows.
  int64_t clusterBlocks() const { return isHopper ? 8 : 1; }
  void useClusters(int64_t blocks);
  void beginReduction(int32_t x, int64_t warps);
  void beginTotal(int32_t x, int64_t blocks);
  void writeContractMma(const ContractRowsCore &core);
  void beginElements();

  /// What every kernel of rows.cuh has.
  void beginRows(int64_t blockThreads);
  void writeNorm(NormForm form, double eps);
  void writeCopy(int64_t columns);
  void writeScale(const RowScaleSpec &scale, int64_t depth);
  /// `row(r)`: an object whose `load` sums one row of each table, or reads the
  /// row itself when there are no indices.
  void writeRowSource(const std::vector<int32_t> &tables,
                      const std::vector<int32_t> &indices);

  // The epilogue and the unit.
  /// A step in three places: a member of Reads, how it is read, what is done.
  struct StepText {
    std::string member, read, apply;
  };
  static std::string each(std::string_view what);
  /// Whether approximations as exact as bf16 will do.
  bool isShort() const { return spec.result().dtype == DType::BF16; }
  std::string operandRow(const OperandSpec &other) const;
  StepText binaryStep(size_t number) const;
  StepText dropoutStep(size_t number) const;
  StepText stepText(size_t number) const;
  std::string epilogueText() const;
  std::string assemble() const;

  const std::string &name;
  const KernelSpec &spec;
  const Path path;
  const bool isHopper;
  uint32_t flags;
  std::string header, globals, members, setup, body;
  std::string mapParameters, attributes, bounds;
  int64_t threads = 0, sharedBytes = 0;
  uint32_t persistentBlocks = 0;
  bool usesEpilogue = true;
  bool waitsItself = false;
};

} // namespace betz::cuda
