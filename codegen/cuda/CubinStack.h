//===- CubinStack.h - Local memory that a cubin's kernels take ------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace betz::cuda {

/// Most bytes of stack that a thread of any function in a cubin takes: spilled
/// registers and arrays that no register holds. 0 for what is no cubin: PTX
/// does not say.
uint32_t stackBytes(std::span<const std::byte> image);

} // namespace betz::cuda
