//===- MainMath.h - Building ops of @main ---------------------------------===//
#pragma once

#include "ir/Module.h"

namespace betz::passes {

/// Emits ops, labelled with a model section.
class MainMath {
public:
  /// Before `replaced`, in its section.
  explicit MainMath(mlir::Operation *replaced);
  MainMath(mlir::OpBuilder builder, mlir::Location where,
           mlir::Attribute section);

  /// An op of one result.
  template <typename OpTy, typename... Args>
  mlir::Value emit(ir::Tensor type, Args... args) {
    auto op = builder.create<OpTy>(where, mlir::Type(type), args...);
    if (section)
      op->setAttr(ir::kSectionAttr, section);
    return op->getResult(0);
  }

  mlir::Value matmul(mlir::Value x, mlir::Value weight);
  mlir::Value add(mlir::Value x, mlir::Value other);
  mlir::Value mul(mlir::Value x, mlir::Value other);
  mlir::Value sub(mlir::Value x, mlir::Value other);
  mlir::Value transpose(mlir::Value x);
  /// The same values with elements of type `element`; `x` if it has them.
  mlir::Value cast(mlir::Value x, mlir::Type element);
  /// A constant tensor of one value.
  mlir::Value fill(ir::Tensor type, double value);
  mlir::Value normScale(mlir::Value x, ir::NormOp norm);
  mlir::Value scaleRows(mlir::Value x, mlir::Value scale);
  mlir::Value gatherSum(mlir::ValueRange indices, mlir::ValueRange tables);
  mlir::Value slice(mlir::Value x, int64_t offset, int64_t columns);
  mlir::Value reshape(mlir::Value x, ir::Tensor type);
  /// Dense attention of a shared query with one key head a query head.
  mlir::Value attention(mlir::Value q, mlir::Value k, mlir::Value v,
                        int64_t heads, double scale);

private:
  mlir::OpBuilder builder;
  mlir::Location where;
  mlir::Attribute section;
};

} // namespace betz::passes
