//===- CudaDriver.h - The CUDA driver's functions, found at run time ------===//
//
// Only files of this folder include this header: it needs cuda.h.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/DynamicLibrary.h"

#include <cuda.h>

/// Every function that is used. cuda.h maps most names to a versioned one by a
/// macro (cuMemAlloc is cuMemAlloc_v2), in this list as in calls, so both mean
/// the version that the header declares.
#define BETZ_CUDA_FUNCTIONS(X)                                                 \
  X(cuCtxGetDevice)                                                            \
  X(cuCtxPopCurrent)                                                           \
  X(cuCtxPushCurrent)                                                          \
  X(cuDeviceGet)                                                               \
  X(cuDeviceGetAttribute)                                                      \
  X(cuDeviceGetCount)                                                          \
  X(cuDeviceGetName)                                                           \
  X(cuDeviceGetPCIBusId)                                                       \
  X(cuDevicePrimaryCtxRelease)                                                 \
  X(cuDevicePrimaryCtxRetain)                                                  \
  X(cuDriverGetVersion)                                                        \
  X(cuEventCreate)                                                             \
  X(cuEventDestroy)                                                            \
  X(cuEventRecord)                                                             \
  X(cuFuncGetAttribute)                                                        \
  X(cuFuncSetAttribute)                                                        \
  X(cuGetErrorName)                                                            \
  X(cuGetErrorString)                                                          \
  X(cuGraphDestroy)                                                            \
  X(cuGraphExecDestroy)                                                        \
  X(cuGraphGetNodes)                                                           \
  X(cuGraphInstantiate)                                                        \
  X(cuGraphLaunch)                                                             \
  X(cuGraphUpload)                                                             \
  X(cuInit)                                                                    \
  X(cuLaunchKernelEx)                                                          \
  X(cuMemAlloc)                                                                \
  X(cuMemFree)                                                                 \
  X(cuMemFreeHost)                                                             \
  X(cuMemGetInfo)                                                              \
  X(cuMemHostAlloc)                                                            \
  X(cuMemcpyDtoDAsync)                                                         \
  X(cuMemcpyDtoHAsync)                                                         \
  X(cuMemcpyHtoDAsync)                                                         \
  X(cuMemsetD8Async)                                                           \
  X(cuModuleGetFunction)                                                       \
  X(cuModuleGetGlobal)                                                         \
  X(cuModuleLoadDataEx)                                                        \
  X(cuModuleUnload)                                                            \
  X(cuStreamBeginCapture)                                                      \
  X(cuStreamCreate)                                                            \
  X(cuStreamDestroy)                                                           \
  X(cuStreamEndCapture)                                                        \
  X(cuStreamSynchronize)                                                       \
  X(cuTensorMapEncodeTiled)

namespace betz {

/// The driver API as a table of functions. Thread-safe.
class CudaDriver {
public:
  /// Whether every later call in the process's context fails, too.
  static bool isFatal(CUresult result);

  /// The driver of this machine, loaded by the first call and never unloaded.
  /// Having none, or one too old for a function, is Unavailable.
  static Result<const CudaDriver *> get();

  /// The Status of a failed call: "cannot `attempted`: NAME (description)".
  Status error(CUresult result, std::string_view attempted) const;

  /// ok, or error(result, attempted).
  Status check(CUresult result, std::string_view attempted) const {
    return result == CUDA_SUCCESS ? Status::ok() : error(result, attempted);
  }

#define BETZ_DECLARE_FUNCTION(name) decltype(&::name) name = nullptr;
  BETZ_CUDA_FUNCTIONS(BETZ_DECLARE_FUNCTION)
#undef BETZ_DECLARE_FUNCTION
  decltype(&::cuEventElapsedTime) cuEventElapsedTime = nullptr;

private:
  explicit CudaDriver(DynamicLibrary library) : library(std::move(library)) {}
  static Result<const CudaDriver *> load();

  DynamicLibrary library;
};

} // namespace betz
