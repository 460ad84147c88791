#include "runtime/hal/cuda/CudaGrid.h"

#include <algorithm>
#include <fmt/format.h>

namespace betz {

Result<uint32_t> cudaGridSize(int64_t maxTasks, uint32_t blocksPerSm,
                              int multiprocessors) {
  int64_t blocks = std::max<int64_t>(maxTasks, 0);
  if (blocksPerSm > 0)
    blocks = std::min(blocks, int64_t(blocksPerSm) * multiprocessors);
  if (blocks > INT32_MAX)
    return invalidArgument(
        fmt::format("a launch of {} blocks; CUDA takes {}", blocks, INT32_MAX));
  return uint32_t(blocks);
}

} // namespace betz
