//===- CudaDevice.h - An NVIDIA GPU ---------------------------------------===//
#pragma once

#include "runtime/hal/Device.h"
#include "runtime/hal/DeviceState.h"

namespace betz {

/// Opens GPU `ordinal` through its driver (libcuda.so.1), found at run time. No
/// driver, no such GPU, and a build without CUDA's headers are Unavailable.
Result<std::unique_ptr<Device>> createCudaDevice(int ordinal);

/// What NVML says of GPU `ordinal` now; empty where it, or the GPU, is missing.
/// Takes milliseconds. Thread-safe.
DeviceState readCudaState(int ordinal);

} // namespace betz
