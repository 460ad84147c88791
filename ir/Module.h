//===- Module.h - The two functions of a module and what names them -------===//
#pragma once

#include "ir/Shapes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "runtime/base/Status.h"

namespace betz::ir {

/// Names of the attributes that modules, functions and ops carry.
inline constexpr llvm::StringLiteral kPhaseAttr = "betz.phase";
inline constexpr llvm::StringLiteral kSymbolsAttr = "betz.symbols";
inline constexpr llvm::StringLiteral kBucketsAttr = "betz.buckets";
inline constexpr llvm::StringLiteral kMetadataAttr = "betz.metadata";
/// What a module was lowered for and in which precision; absent on modules
/// that were not lowered, or for the CPU.
inline constexpr llvm::StringLiteral kTargetAttr = "betz.target";
inline constexpr llvm::StringLiteral kPrecisionAttr = "betz.precision";
inline constexpr llvm::StringLiteral kSectionAttr = "betz.section";
inline constexpr llvm::StringLiteral kWeightAttr = "betz.weight";
/// How a weight starts when none is given: normal, uniform, ones or zeros.
inline constexpr llvm::StringLiteral kInitAttr = "betz.init";
inline constexpr llvm::StringLiteral kDerivedAttr = "betz.derived";
inline constexpr llvm::StringLiteral kInputAttr = "betz.input";
/// An input that stays on the device from step to step.
inline constexpr llvm::StringLiteral kStateAttr = "betz.state";
inline constexpr llvm::StringLiteral kAliasAttr = "betz.alias";
inline constexpr llvm::StringLiteral kDefaultAttr = "betz.default";
inline constexpr llvm::StringLiteral kOutputAttr = "betz.output";
inline constexpr llvm::StringLiteral kPrepare = "prepare";
inline constexpr llvm::StringLiteral kMain = "main";

enum class Phase { Model, Kernels, Program };
llvm::StringRef toString(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);

/// A context with the dialects that Betz modules use, single-threaded so that
/// everything it produces is deterministic.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// Parses and verifies a module of any phase; diagnostics become the Status.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
parseModule(mlir::MLIRContext &context, llvm::StringRef text,
            llvm::StringRef origin);

std::string printModule(mlir::ModuleOp module);

/// Null if the module lacks it.
mlir::func::FuncOp getPrepare(mlir::ModuleOp module);
mlir::func::FuncOp getMain(mlir::ModuleOp module);

/// The phase that the module claims; Model if it says nothing.
Phase getPhase(mlir::ModuleOp module);
void setPhase(mlir::ModuleOp module, Phase phase);

/// Name that argument or result `index` carries under `attribute`; "" if none.
llvm::StringRef getArgName(mlir::func::FuncOp function, unsigned index,
                           llvm::StringRef attribute);
llvm::StringRef getResultName(mlir::func::FuncOp function, unsigned index,
                              llvm::StringRef attribute);

/// Collects diagnostics while alive and turns them into one Status.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext &context);
  /// The errors so far, or `fallback` if there were none.
  Status takeStatus(StatusCode code, llvm::StringRef fallback);

private:
  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace betz::ir
