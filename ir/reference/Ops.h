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

/// The result of any op but a kernel; a Status for an op without a meaning
/// here.
Result<Tensor> evaluateOp(mlir::Operation *op, const Operands &operands);

Tensor evaluateMatmul(ir::MatmulOp op, const Operands &operands);
Tensor evaluateWeightOp(ir::PackPanelsOp op, const Operands &operands);
Tensor evaluateWeightOp(ir::FillOp op, const Operands &operands);
Tensor evaluateWeightOp(ir::SubtractMeanOp op, const Operands &operands);
Tensor evaluateWeightOp(ir::TransposeOp op, const Operands &operands);
Tensor evaluateWeightOp(ir::ConcatOp op, const Operands &operands);
Tensor evaluateWeightOp(ir::ExpandHeadsOp op, const Operands &operands);
Result<Tensor> evaluateAttention(ir::AttentionOp op, const Operands &operands);

/// Row splits of `elements` rows start at 0, never fall and end at `elements`.
/// `source` is where they come from.
Status checkRowSplits(mlir::Value source, const Tensor &splits,
                      int64_t elements);

/// What a message calls a value: its input's name where it has one.
std::string describe(mlir::Value value);

} // namespace betz::reference
