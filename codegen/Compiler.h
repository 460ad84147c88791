//===- Compiler.h - Module + weights + target -> Program ------------------===//
#pragma once

#include "codegen/common/CompileObserver.h"
#include "ir/Module.h"
#include "ir/reference/Tensor.h"
#include "runtime/program/Program.h"

#include <functional>
#include <string>
#include <vector>

namespace betz {

struct CompileOptions {
  /// "cpu" today; each gives one TargetVariant.
  std::vector<std::string> targets = {"cpu"};
  /// Windows of each shape bucket, ascending.
  std::vector<int64_t> batches = {1, 8, 32};
  /// Rows of a ragged dimension for each window.
  int64_t maxEvents = 4096;
  /// Sees the compile from inside; never null, must outlive it.
  CompileObserver *observer = &ignoreCompile();
};

/// Checks targets and bucket sizes; the error says what is allowed.
Status checkCompileOptions(const CompileOptions &options);

/// Lowers `module` (of any phase) to `phase` in place.
Status lowerModule(mlir::ModuleOp module, ir::Phase phase,
                   const CompileOptions &options);

/// Compiles a module of any phase; lowers it in place to the program phase.
/// `weights` holds every `betz.weight`. The same module, weights and options
/// give the same program, byte for byte.
Result<std::shared_ptr<const Program>>
compileModule(mlir::ModuleOp module, const reference::TensorMap &weights,
              const CompileOptions &options);

} // namespace betz
