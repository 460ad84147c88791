//===- BindingChecks.h - Are a step's tensors what its kernels expect? ----===//
#pragma once

#include "runtime/program/Program.h"
#include "runtime/session/Bindings.h"

#include <string>

namespace betz {

/// The binding of input `input`, or null.
const InputBinding *findBinding(std::span<const InputBinding> inputs,
                                uint32_t input);

/// "[batch, 3]" for a specification.
std::string shapeText(const TensorSpec &tensor, const Program &program);

/// Checks everything that a kernel takes for granted: that each input is bound
/// once, or has a default, with its element type and shape; that dimensions of
/// one symbol agree; and the program's splits and index checks. Fills
/// `extents`, one for each symbol. Allocates only to report an error.
Status checkInputs(const Program &program, std::span<const InputBinding> inputs,
                   std::span<int64_t> extents);

/// Checks that each output exists and is bound once, with its element type and,
/// for a step of `extents`, its shape. Allocates only to report an error.
Status checkOutputs(const Program &program,
                    std::span<const OutputBinding> outputs,
                    std::span<const int64_t> extents);

} // namespace betz
