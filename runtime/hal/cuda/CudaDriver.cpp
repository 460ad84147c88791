#include "runtime/hal/cuda/CudaDriver.h"
#include "runtime/base/Log.h"

#include <fmt/format.h>
#include <memory>

namespace betz {
namespace {

/// What kind of failure a result is; see StatusCode.
StatusCode codeOf(CUresult result) {
  switch (result) {
  case CUDA_ERROR_OUT_OF_MEMORY:
    return StatusCode::ResourceExhausted;
  case CUDA_ERROR_INVALID_IMAGE:
  case CUDA_ERROR_INVALID_PTX:
  case CUDA_ERROR_INVALID_SOURCE:
  case CUDA_ERROR_NOT_FOUND:
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    return StatusCode::DataLoss;
  case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
  case CUDA_ERROR_DEVICE_UNAVAILABLE:
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_INVALID_DEVICE:
  case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
  case CUDA_ERROR_NO_DEVICE:
  case CUDA_ERROR_NVLINK_UNCORRECTABLE:
  case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
  case CUDA_ERROR_SYSTEM_NOT_READY:
  case CUDA_ERROR_UNKNOWN:
    return StatusCode::Unavailable;
  default:
    return StatusCode::Internal;
  }
}

/// What the user can do about it, or nothing.
std::string_view remedyOf(CUresult result) {
  if (CudaDriver::isFatal(result))
    return "; this process can use the device no more: restart it";
  switch (result) {
  case CUDA_ERROR_INVALID_IMAGE:
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
    return "; the NVIDIA driver may be older than this code: update it";
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    return "; the NVIDIA driver is older than this code: update it";
  case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    return "; the NVIDIA driver was updated: restart the machine";
  default:
    return "";
  }
}

} // namespace

bool CudaDriver::isFatal(CUresult result) {
  switch (result) {
  case CUDA_ERROR_ASSERT:
  case CUDA_ERROR_CONTEXT_IS_DESTROYED:
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_LAUNCH_FAILED:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_NVLINK_UNCORRECTABLE:
  case CUDA_ERROR_UNKNOWN:
    return true;
  default:
    return false;
  }
}

Result<const CudaDriver *> CudaDriver::get() {
  static const Result<const CudaDriver *> driver = load();
  return driver;
}

Result<const CudaDriver *> CudaDriver::load() {
  const char *const names[] = {"libcuda.so.1"};
  auto library = DynamicLibrary::open(names);
  if (!library.isOk()) {
    logDebug("cuda", "{}", library.status().message());
    return unavailable("no CUDA driver (libcuda.so.1) on this machine; run "
                       "with --device cpu");
  }
  std::unique_ptr<CudaDriver> driver(
      new CudaDriver(std::move(library).value()));
  auto find = [&](auto *&function, const char *symbol) {
    Status status = driver->library.find(function, symbol);
    return status.isOk() ? Status::ok()
                         : unavailable(fmt::format(
                               "the NVIDIA driver is too old: {}; update it, "
                               "or run with --device cpu",
                               status.message()));
  };
#define BETZ_STRING(text) #text
#define BETZ_FIND_FUNCTION(name)                                               \
  BETZ_RETURN_IF_ERROR(find(driver->name, BETZ_STRING(name)));
  BETZ_CUDA_FUNCTIONS(BETZ_FIND_FUNCTION)
#undef BETZ_FIND_FUNCTION
#undef BETZ_STRING
  // Not by the header's macro: its second version, which does the same, needs a
  // driver of CUDA 12.8.
  BETZ_RETURN_IF_ERROR(find(driver->cuEventElapsedTime, "cuEventElapsedTime"));
  // Objects in static storage may still need it when the process ends.
  return driver.release();
}

Status CudaDriver::error(CUresult result, std::string_view attempted) const {
  const char *name = nullptr, *description = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS ||
      cuGetErrorString(result, &description) != CUDA_SUCCESS)
    return Status(codeOf(result),
                  fmt::format("cannot {}: CUDA error {}{}", attempted,
                              int(result), remedyOf(result)));
  return Status(codeOf(result),
                fmt::format("cannot {}: {} ({}){}", attempted, name,
                            description, remedyOf(result)));
}

} // namespace betz
