//===- ProgramBuilder.h - Lowered modules to a Program --------------------===//
#pragma once

#include "codegen/Compiler.h"

namespace betz {

/// A program-phase module for some of the targets, with what its @prepare
/// gives.
struct LoweredModule {
  std::vector<std::string> targets;
  mlir::ModuleOp module;
  reference::TensorMap derived;
};

/// The Program of one model, lowered for each kind of target in `options`.
Result<std::shared_ptr<const Program>>
buildProgram(std::span<const LoweredModule> modules,
             const CompileOptions &options);

} // namespace betz
