//===- WeightMath.h - Building what @prepare computes ---------------------===//
#pragma once

#include "ir/Module.h"

namespace betz::passes {

/// Emits ops on derived values where a builder stands (the end of @prepare),
/// labelled with the model section that they serve.
class WeightMath {
public:
  WeightMath(mlir::OpBuilder builder, mlir::Operation *servedOp);

  /// [N, K] with column k times factors[k].
  mlir::Value scaleColumns(mlir::Value weight, mlir::Value factors);
  mlir::Value subtractMean(mlir::Value x, int64_t dim);
  mlir::Value transpose(mlir::Value x);
  mlir::Value columns(mlir::Value x, int64_t offset, int64_t size);
  mlir::Value concat(llvm::ArrayRef<mlir::Value> parts);
  mlir::Value expandHeads(mlir::Value x, int64_t heads);
  mlir::Value fill(llvm::ArrayRef<int64_t> shape, double value);
  /// x [M, K] times the transpose of weight [N, K].
  mlir::Value product(mlir::Value x, mlir::Value weight);
  /// vector [K] times the transpose of weight [N, K], as a vector [N].
  mlir::Value vectorProduct(mlir::Value vector, mlir::Value weight);

  /// `weight` (of a matmul that reads `norm`) such that it can read the norm's
  /// input, scaled by norm_scale: the gain and, for LayerNorm, the removal of
  /// the mean are in it.
  mlir::Value absorbNorm(ir::NormOp norm, mlir::Value gain, mlir::Value weight);

private:
  template <typename OpTy, typename... Args>
  mlir::Value emit(ir::Tensor type, Args... args);
  ir::Tensor constantType(llvm::ArrayRef<int64_t> shape);

  mlir::OpBuilder builder;
  mlir::Location where;
  mlir::Attribute section;
};

} // namespace betz::passes
