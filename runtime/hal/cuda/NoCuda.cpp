// What stands for the driver in a build without cuda.h.
#include "runtime/hal/cuda/CudaDevice.h"

namespace betz {

Result<std::unique_ptr<Device>> createCudaDevice(int) {
  return unavailable("this betz was built without CUDA's headers (cuda.h); run "
                     "with --device cpu, or build it again where they are");
}

} // namespace betz
