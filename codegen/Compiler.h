//===- Compiler.h - Module + weights + target -> Program ------------------===//
#pragma once

#include "codegen/common/CompileObserver.h"
#include "ir/Module.h"
#include "ir/reference/Tensor.h"
#include "runtime/program/Program.h"

#include <optional>
#include <string>
#include <vector>

namespace betz {

struct CompileOptions {
  /// "cpu", "cuda:sm_90a", "cuda:sm_80"; each gives one TargetVariant. Empty:
  /// what the module was lowered for, "cpu" for one that was not lowered yet.
  std::vector<std::string> targets;
  /// How CUDA targets keep weights and what kernels hand on, F32 or BF16; sums
  /// are f32 either way. The CPU keeps f32. Empty: what the module was lowered
  /// with, else BF16.
  std::optional<DType> precision;
  /// Windows of each shape bucket, ascending.
  std::vector<int64_t> batches = {1, 8, 32};
  /// Rows of a ragged dimension for each window.
  int64_t maxEvents = 4096;
  /// CPU code for the best instruction set of this machine only, for programs
  /// that never leave it.
  bool forThisMachine = false;
  /// Sees the compile from inside; never null, must outlive it.
  CompileObserver *observer = &ignoreCompile();
};

/// Checks targets and bucket sizes; the error says what is allowed.
Status checkCompileOptions(const CompileOptions &options);

/// Lowers `module` (of any phase) to `phase` in place, for the one target of
/// `options`.
Status lowerModule(mlir::ModuleOp module, ir::Phase phase,
                   const CompileOptions &options);

/// Compiles a module of any phase, which stays as it is; each kind of target
/// lowers a clone. `weights` holds every `betz.weight`. The same module,
/// weights and options give the same program, byte for byte.
Result<std::shared_ptr<const Program>>
compileModule(mlir::ModuleOp module, const reference::TensorMap &weights,
              const CompileOptions &options);

} // namespace betz
