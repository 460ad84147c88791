//===- Source.h - KernelSpec to CUDA text ---------------------------------===//
#pragma once

#include "codegen/common/KernelSpec.h"
#include "codegen/cuda/Paths.h"

namespace betz::cuda {

/// The headers under codegen/cuda/kernels that generated text includes: file
/// name and content.
std::span<const std::pair<std::string_view, std::string_view>> kernelHeaders();

/// A translation unit with the kernel `name`. The tile must have been chosen.
/// The error says what the spec has that no path takes.
Result<std::string> kernelSource(const std::string &name,
                                 const KernelSpec &spec,
                                 const Architecture &architecture);

} // namespace betz::cuda
