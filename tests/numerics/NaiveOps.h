//===- NaiveOps.h - Op definitions once more, to check the interpreter ----===//
#pragma once

#include "ir/Module.h"
#include "ir/reference/Tensor.h"

namespace betz {

/// Runs `@prepare` and `@main` in long double with each op written straight
/// from its definition, sharing nothing with the interpreter. Handles the
/// model phase only.
reference::TensorMap runNaively(mlir::ModuleOp module,
                                const reference::TensorMap &weights,
                                const reference::TensorMap &inputs);

} // namespace betz
