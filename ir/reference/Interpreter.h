//===- Interpreter.h - What a module means, in f64 ------------------------===//
//
// The oracle of every op and pass: plain loops in double precision over
// modules of any phase. A `betz.kernel` runs its region.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/Module.h"
#include "ir/reference/Tensor.h"

#include <vector>

namespace betz::reference {

/// Runs `@prepare`. `weights` holds a tensor for each `betz.weight`; others are
/// ignored. Returns the derived tensors by their `betz.derived` names. Missing
/// and misshapen weights give one Status that lists all of them.
Result<TensorMap> runPrepare(mlir::ModuleOp module, const TensorMap &weights);

/// Runs `@main` on what runPrepare returned and one batch. An input may be
/// given under its `betz.alias`; where it is not given, its `betz.default`
/// fills it. Symbols take their sizes from the inputs' shapes, which must agree
/// with each other. Returns the outputs by their `betz.output` names. Missing
/// and misshapen tensors give one Status that lists all of them; an index or
/// row split out of range gives one that names the input and the place.
Result<TensorMap> runMain(mlir::ModuleOp module, const TensorMap &derived,
                          const TensorMap &inputs);

/// Computes the results of one op of the dialect, a kernel included, from
/// `operands`, one for each operand in order. Their shapes are checked.
Result<std::vector<Tensor>> evaluate(mlir::Operation *op,
                                     llvm::ArrayRef<const Tensor *> operands);

} // namespace betz::reference
