// What stands for the driver in a build without cuda.h.
#include "runtime/hal/cuda/CudaBaseline.h"
#include "runtime/hal/cuda/CudaDevice.h"

namespace betz {
namespace {

Status noHeaders() {
  return unavailable("this betz was built without CUDA's headers (cuda.h); run "
                     "with --device cpu, or build it again where they are");
}

} // namespace

Result<std::unique_ptr<Device>> createCudaDevice(int) { return noHeaders(); }

DeviceState readCudaState(int) { return {}; }

Result<std::unique_ptr<CudaBaseline>> openCudaBaseline(int) {
  return noHeaders();
}

} // namespace betz
