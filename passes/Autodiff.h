//===- Autodiff.h - Reverse-mode differentiation of @main -----------------===//
#pragma once

#include "ir/Module.h"

#include "llvm/ADT/DenseMap.h"

namespace betz::passes {

/// Gradients of an `f32[1]` value of a block with regard to other values of it.
using GradientMap = llvm::DenseMap<mlir::Value, mlir::Value>;

/// Appends to the block of `loss`, before its terminator, the ops that compute
/// the gradient of `loss` with regard to each of `wanted`, and no others. A
/// value that `loss` does not depend on has no entry in the map. A gradient has
/// the shape of its value; its element type is that of the value or f32. Fails,
/// with an error on the op, where an op on the way has no gradient rule.
mlir::FailureOr<GradientMap> differentiate(mlir::Value loss,
                                           llvm::ArrayRef<mlir::Value> wanted);

} // namespace betz::passes
