//===- Passes.h - The passes and their order ------------------------------===//
#pragma once

#include "ir/Module.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

#include <functional>

namespace betz::passes {

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

// registerBetzPasses() and one function a pass, for betz-opt.
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

/// What a pass has just done.
struct PassEvent {
  llvm::StringRef pass; // "hoist"
  mlir::ModuleOp module;
  bool failed = false;
  double seconds = 0;
};

/// What the pipeline needs to know of the target.
struct PipelineOptions {
  /// Columns of a packed weight panel; 0 leaves weights plain.
  int64_t panel = 16;
  /// Whether @main keeps its tensors as bf16.
  bool narrow = false;
  /// Whether norms stay row kernels.
  bool normsApart = false;
  /// Capacities of each bucket, in the order of the module's symbols.
  std::vector<std::vector<int64_t>> buckets;
  /// Called after each pass; may be empty.
  std::function<void(const PassEvent &)> onPass;
};

/// Runs what is left of the pipeline to bring `module` to `phase`; a module
/// that is already past it is an error. The order is in Pipelines.cpp.
Status lowerTo(ir::Phase phase, mlir::ModuleOp module,
               const PipelineOptions &options);

/// Checks that `module` is in the phase that it claims.
Status verifyPhase(mlir::ModuleOp module);

/// Takes a module back to an earlier phase: drops the memory plan (kernels),
/// and inlines the kernels (model). What was folded stays folded.
void raiseTo(ir::Phase phase, mlir::ModuleOp module);

} // namespace betz::passes
