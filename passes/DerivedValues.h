//===- DerivedValues.h - The border between @prepare and @main ------------===//
#pragma once

#include "ir/Module.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace betz::passes {

/// Edits what `@prepare` hands to `@main`. While it lives, `@main` may read
/// values of `@prepare` directly; `finish` turns those into derived results
/// and arguments and drops the ones that nothing reads.
class DerivedValues {
public:
  explicit DerivedValues(mlir::ModuleOp module);

  /// Whether `value`, as `@main` reads it, depends on weights alone.
  bool contains(mlir::Value value) const;
  /// The value in `@prepare` that `@main`'s derived argument stands for.
  mlir::Value inPrepare(mlir::Value value) const;
  /// Moves an op whose operands are all derived to the end of `@prepare`.
  void moveToPrepare(mlir::Operation *op);
  /// A builder at the end of `@prepare`.
  mlir::OpBuilder atEndOfPrepare();
  void finish();

private:
  std::string nameOf(mlir::Value value);

  mutable mlir::func::FuncOp prepare;
  mlir::func::FuncOp main;
  mlir::func::ReturnOp prepareReturn;
  llvm::DenseMap<mlir::Value, mlir::Value> argumentValues;
  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::StringMap<int> usedNames;
};

/// Whether a norm's gain and shift are derived values.
bool isLinearPartDerived(const DerivedValues &derived, ir::NormOp norm);

} // namespace betz::passes
