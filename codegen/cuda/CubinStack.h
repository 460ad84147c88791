//===- CubinStack.h - Local memory that a cubin's kernels take ------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace betz::cuda {

/// Most bytes of stack that a thread of any function in `code`
/// (runtime/program/CudaImages.h) takes: spilled registers and arrays that no
/// register holds. PTX does not say, and counts as 0.
uint32_t stackBytes(std::span<const std::byte> code);

} // namespace betz::cuda
