//===- Cubin.h - What ptxas made of a kernel ------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace betz::cuda {

/// The largest of all kernels in a cubin.
struct CubinUse {
  uint32_t registers = 0; // of a thread
  /// Local memory of a thread: arrays that are indexed at run time, and
  /// registers that were spilled.
  uint32_t stackBytes = 0;
};

/// Reads the ELF section .nv.info. What is no whole cubin is DataLoss.
Result<CubinUse> readCubinUse(std::span<const std::byte> cubin);

} // namespace betz::cuda
