//===- Ops.h - The evaluation of each op ----------------------------------===//
//
// Internal to ir/reference. Operands conform to their types and agree on the
// sizes of symbols; functions check what shapes do not say (indices, splits).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/BetzDialect.h"
#include "ir/reference/Tensor.h"
#include "runtime/base/Status.h"

namespace betz::reference {

/// The tensors of an op's operands, by value.
class Operands {
public:
  Operands(mlir::Operation *op, llvm::ArrayRef<const Tensor *> tensors)
      : op(op), tensors(tensors) {}

  /// `value` must be an operand of the op.
  const Tensor &operator[](mlir::Value value) const;

private:
  mlir::Operation *op;
  llvm::ArrayRef<const Tensor *> tensors;
};

/// The result of any op but a kernel or adamw; a Status for an op without a
/// meaning here.
Result<Tensor> evaluateOp(mlir::Operation *op, const Operands &operands);

Tensor evaluateMatmul(ir::MatmulOp op, const Operands &operands);
Tensor evaluateWeightOp(ir::PackPanelsOp op, const Operands &operands);
Tensor evaluateWeightOp(ir::FillOp op, const Operands &operands);
Tensor evaluateWeightOp(ir::SubtractMeanOp op, const Operands &operands);
Tensor evaluateWeightOp(ir::TransposeOp op, const Operands &operands);
Tensor evaluateWeightOp(ir::ConcatOp op, const Operands &operands);
Tensor evaluateWeightOp(ir::ExpandHeadsOp op, const Operands &operands);
Result<Tensor> evaluateAttention(ir::AttentionOp op, const Operands &operands);
Result<Tensor> evaluateAttentionLse(ir::AttentionLseOp op,
                                    const Operands &operands);
Result<Tensor> evaluateAttentionGradQ(ir::AttentionGradQOp op,
                                      const Operands &operands);
Result<Tensor> evaluateAttentionGradKv(ir::AttentionGradKvOp op,
                                       const Operands &operands);
Tensor evaluateTrainingOp(ir::ContractRowsOp op, const Operands &operands);
Tensor evaluateTrainingOp(ir::ColumnSumOp op, const Operands &operands);
Tensor evaluateTrainingOp(ir::SquareSumOp op, const Operands &operands);
Tensor evaluateTrainingOp(ir::JoinColumnsOp op, const Operands &operands);
Tensor evaluateTrainingOp(ir::DropoutOp op, const Operands &operands);
Tensor evaluateTrainingOp(ir::HeadDotsOp op, const Operands &operands);
Tensor evaluateTrainingOp(ir::MseLossOp op, const Operands &operands);
Tensor evaluateTrainingOp(ir::MseGradOp op, const Operands &operands);
Result<Tensor> evaluateScatterSum(ir::ScatterSumOp op,
                                  const Operands &operands);
Result<Tensor> evaluateCrossEntropy(ir::CrossEntropyOp op,
                                    const Operands &operands);
Result<Tensor> evaluateCrossEntropyGrad(ir::CrossEntropyGradOp op,
                                        const Operands &operands);
/// The weights and the two moments.
std::vector<Tensor> evaluateAdamw(ir::AdamwOp op, const Operands &operands);

/// Row splits of `elements` rows start at 0, never fall and end at `elements`.
/// `source` is where they come from.
Status checkRowSplits(mlir::Value source, const Tensor &splits,
                      int64_t elements);

/// What a message calls a value: its input's name where it has one.
std::string describe(mlir::Value value);

} // namespace betz::reference
