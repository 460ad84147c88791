//===- Constraints.h - What several verifiers check -----------------------===//
//
// Internal to ir.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/Shapes.h"

namespace betz::ir {

inline Tensor typeOf(mlir::Value value) {
  return llvm::cast<Tensor>(value.getType());
}

/// A constant tensor of rank one.
bool isVector(mlir::Value value, int64_t size, mlir::Type element);

/// Both have one element a row of the same rows.
bool sameRows(Tensor a, Tensor b);

/// Whether a type is `wanted`, or `wanted` with f32 elements.
bool isTypeOrF32(mlir::Type type, Tensor wanted);

/// Emits `label` unless the result has the type of `x`.
mlir::LogicalResult verifySameType(mlir::Operation *op, mlir::Value x,
                                   mlir::Value result, llvm::StringRef label);

/// `i32[E]` or `i32[B, Q]`.
bool isIndex(Tensor type);

/// The rows of a table of `columns` columns that `index` picks.
Tensor pickedRows(Tensor index, int64_t columns, mlir::Type element);

} // namespace betz::ir
