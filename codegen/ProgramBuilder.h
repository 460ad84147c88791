//===- ProgramBuilder.h - Lowered modules to a Program --------------------===//
#pragma once

#include "codegen/Compiler.h"

namespace betz {

/// A program-phase module for some of the targets, with what its @prepare
/// gives.
struct LoweredModule {
  std::vector<std::string> targets;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  reference::TensorMap derived;
};

/// Says on `module` what it is lowered for; nothing for the CPU.
void setTarget(mlir::ModuleOp module, llvm::StringRef target, DType precision);

/// The Program of one model, lowered for each kind of target, with a variant a
/// target in the order of `targets`.
Result<std::shared_ptr<const Program>>
buildProgram(std::span<const LoweredModule> modules,
             std::span<const std::string> targets, DType precision,
             const CompileOptions &options);

} // namespace betz
