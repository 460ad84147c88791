//===- GradientRules.h - The gradient of each op --------------------------===//
#pragma once

#include "passes/MainMath.h"

namespace betz::passes {

/// What the gradient rule of one op reads, and where its results go.
class GradientScope {
public:
  virtual ~GradientScope() = default;

  /// Whether a gradient with regard to `value` is asked for.
  virtual bool needs(mlir::Value value) const = 0;
  /// Adds to the gradient of `value`. The element type is that of `value` or
  /// f32.
  virtual void add(mlir::Value value, mlir::Value gradient) = 0;
  /// Adds to columns `offset` and following of the gradient of `value`.
  virtual void addColumns(mlir::Value value, int64_t offset,
                          mlir::Value gradient) = 0;

  /// The gradient of the op's result, in the result's type.
  mlir::Value gradient;
  MainMath math;

protected:
  explicit GradientScope(MainMath math) : math(math) {}
};

/// Emits the gradients of the operands of `op` that are needed. Fails, with an
/// error on the op, if there is no rule for it.
mlir::LogicalResult applyGradientRule(mlir::Operation *op,
                                      GradientScope &scope);

} // namespace betz::passes
