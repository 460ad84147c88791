//===- MainMath.h - Building what replaces an op of @main -----------------===//
#pragma once

#include "ir/Module.h"

namespace betz::passes {

/// Emits ops before `replaced`, labelled with its model section.
class MainMath {
public:
  explicit MainMath(mlir::Operation *replaced);

  mlir::Value matmul(mlir::Value x, mlir::Value weight);
  mlir::Value add(mlir::Value x, mlir::Value other);
  mlir::Value normScale(mlir::Value x, ir::NormOp norm);
  mlir::Value scaleRows(mlir::Value x, mlir::Value scale);
  mlir::Value gatherSum(mlir::ValueRange indices, mlir::ValueRange tables);
  mlir::Value slice(mlir::Value x, int64_t offset, int64_t columns);
  mlir::Value reshape(mlir::Value x, ir::Tensor type);
  /// Dense attention of a shared query with one key head a query head.
  mlir::Value attention(mlir::Value q, mlir::Value k, mlir::Value v,
                        int64_t heads, double scale);

private:
  template <typename OpTy, typename... Args>
  mlir::Value emit(ir::Tensor type, Args... args);

  mlir::OpBuilder builder;
  mlir::Location where;
  mlir::Attribute section;
};

} // namespace betz::passes
