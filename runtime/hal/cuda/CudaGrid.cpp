#include "runtime/hal/cuda/CudaGrid.h"

#include <algorithm>
#include <fmt/format.h>

namespace betz {

Result<uint32_t> cudaGridSize(int64_t maxTasks,
                              const CudaLaunchGeometry &geometry,
                              int multiprocessors) {
  int64_t blocks = std::max<int64_t>(maxTasks, 0);
  if (geometry.blocksPerSm > 0)
    blocks = std::min(blocks, int64_t(geometry.blocksPerSm) * multiprocessors);
  if (geometry.flags & kCudaPairedBlocks)
    blocks += blocks % 2;
  if (geometry.flags & kCudaEightBlocks)
    blocks = blocks > INT32_MAX ? blocks : blocks * 8;
  if (blocks > INT32_MAX)
    return invalidArgument(
        fmt::format("a launch of {} blocks; CUDA takes {}", blocks, INT32_MAX));
  return uint32_t(blocks);
}

} // namespace betz
