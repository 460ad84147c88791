//===- CudaGrid.h - How many blocks a launch has --------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/program/KernelAbi.h"

#include <cstdint>

namespace betz {

/// Blocks of a launch of at most `maxTasks` tasks. 0 when there is nothing to
/// launch; more than CUDA takes is an error.
Result<uint32_t> cudaGridSize(int64_t maxTasks,
                              const CudaLaunchGeometry &geometry,
                              int multiprocessors);

} // namespace betz
