#include "runtime/hal/cuda/CudaContext.h"
#include "runtime/base/Log.h"

#include <cstring>
#include <fmt/format.h>

namespace betz {

Result<std::shared_ptr<const CudaContext>> CudaContext::open(int ordinal) {
  BETZ_ASSIGN_OR_RETURN(const CudaDriver *driver, CudaDriver::get());
  int count = 0;
  CUresult result = driver->cuInit(0);
  if (result == CUDA_SUCCESS)
    result = driver->cuDeviceGetCount(&count);
  if (result == CUDA_ERROR_NO_DEVICE || (result == CUDA_SUCCESS && count == 0))
    return unavailable("the CUDA driver finds no GPU on this machine; run with "
                       "--device cpu");
  BETZ_RETURN_IF_ERROR(driver->check(result, "start the CUDA driver"));
  if (ordinal < 0 || ordinal >= count)
    return unavailable(
        fmt::format("no device \"cuda:{}\"; this machine has cuda:0{}", ordinal,
                    count > 1 ? fmt::format(" to cuda:{}", count - 1) : ""));

  std::shared_ptr<CudaContext> context(new CudaContext(*driver, ordinal));
  BETZ_RETURN_IF_ERROR(context->initialize());
  return std::shared_ptr<const CudaContext>(std::move(context));
}

Status CudaContext::initialize() {
  fullName = fmt::format("cuda:{}", ordinal);
  char model[256] = {}, bus[32] = {};
  auto describe = [&] {
    const std::pair<int *, CUdevice_attribute> attributes[] = {
        {&gpu.major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
        {&gpu.minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
        {&smCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT}};
    CUresult result = driver.cuDeviceGet(&device, ordinal);
    if (result == CUDA_SUCCESS)
      result = driver.cuDeviceGetName(model, sizeof(model) - 1, device);
    if (result == CUDA_SUCCESS)
      result = driver.cuDeviceGetPCIBusId(bus, sizeof(bus), device);
    for (auto [value, attribute] : attributes)
      if (result == CUDA_SUCCESS)
        result = driver.cuDeviceGetAttribute(value, attribute, device);
    return result;
  };
  if (CUresult result = describe(); result != CUDA_SUCCESS)
    return error(result, "ask what it is");
  pciBusId = bus;
  fullName = fmt::format("cuda:{} ({}, sm_{}{})", ordinal, model, gpu.major,
                         gpu.minor);
  if (CUresult result = driver.cuDevicePrimaryCtxRetain(&context, device);
      result != CUDA_SUCCESS) {
    context = nullptr;
    return error(result, "open it");
  }
  return call("make a stream", [&](const CudaDriver &cuda) {
    return cuda.cuStreamCreate(&copies, CU_STREAM_NON_BLOCKING);
  });
}

CudaContext::~CudaContext() {
  if (!context)
    return;
  if (copies)
    release(
        [&](const CudaDriver &cuda) { return cuda.cuStreamDestroy(copies); });
  driver.cuDevicePrimaryCtxRelease(device);
}

Status CudaContext::error(CUresult result, std::string_view attempted) const {
  Status status = driver.error(result, attempted).withContext(fullName);
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    return Status(status.getCode(), status.message() + freeMemory());
  if (!CudaDriver::isFatal(result))
    return status;
  std::lock_guard lock(losing);
  if (!isLost) {
    lostStatus = status;
    isLost.store(true, std::memory_order_release);
  }
  return lostStatus;
}

std::string CudaContext::freeMemory() const {
  size_t free = 0, total = 0;
  if (driver.cuCtxPushCurrent(context) != CUDA_SUCCESS)
    return "";
  const CUresult result = driver.cuMemGetInfo(&free, &total);
  CUcontext popped;
  driver.cuCtxPopCurrent(&popped);
  return result == CUDA_SUCCESS
             ? fmt::format("; {} of its {} bytes are free", free, total)
             : "";
}

Status CudaContext::writeNow(CUdeviceptr to, const void *from,
                             size_t bytes) const {
  return call("copy to it", [&](const CudaDriver &cuda) {
    CUresult result = cuda.cuMemcpyHtoDAsync(to, from, bytes, copies);
    return result == CUDA_SUCCESS ? cuda.cuStreamSynchronize(copies) : result;
  });
}

Status CudaContext::readNow(void *to, CUdeviceptr from, size_t bytes) const {
  return call("copy from it", [&](const CudaDriver &cuda) {
    CUresult result = cuda.cuMemcpyDtoHAsync(to, from, bytes, copies);
    return result == CUDA_SUCCESS ? cuda.cuStreamSynchronize(copies) : result;
  });
}

Status CudaContext::zeroNow(CUdeviceptr to, size_t bytes) const {
  return call("clear memory", [&](const CudaDriver &cuda) {
    CUresult result = cuda.cuMemsetD8Async(to, 0, bytes, copies);
    return result == CUDA_SUCCESS ? cuda.cuStreamSynchronize(copies) : result;
  });
}

Result<std::unique_ptr<CudaBuffer>>
CudaBuffer::allocate(std::shared_ptr<const CudaContext> context, size_t bytes) {
  CUdeviceptr address = 0;
  if (bytes > 0)
    BETZ_RETURN_IF_ERROR(context->call(
        fmt::format("allocate {} bytes", bytes), [&](const CudaDriver &cuda) {
          return cuda.cuMemAlloc(&address, bytes);
        }));
  return std::unique_ptr<CudaBuffer>(
      new CudaBuffer(std::move(context), bytes, address, nullptr));
}

Result<std::unique_ptr<CudaBuffer>>
CudaBuffer::allocateStaging(std::shared_ptr<const CudaContext> context,
                            size_t bytes) {
  void *host = nullptr;
  if (bytes > 0) {
    Status status = context->call(
        fmt::format("pin {} bytes of host memory", bytes),
        [&](const CudaDriver &cuda) {
          return cuda.cuMemHostAlloc(&host, bytes, CU_MEMHOSTALLOC_PORTABLE);
        });
    BETZ_RETURN_IF_ERROR(std::move(status));
    std::memset(host, 0, bytes);
  }
  // Pinned memory has one address for host and device.
  return std::unique_ptr<CudaBuffer>(new CudaBuffer(
      std::move(context), bytes, reinterpret_cast<CUdeviceptr>(host), host));
}

CudaBuffer::~CudaBuffer() {
  if (deviceAddress == 0)
    return;
  context->release([&](const CudaDriver &cuda) {
    return hostPointer() ? cuda.cuMemFreeHost(hostPointer())
                         : cuda.cuMemFree(deviceAddress);
  });
}

} // namespace betz
