//===- CudaContext.h - One GPU, opened ------------------------------------===//
#pragma once

#include "runtime/hal/Buffer.h"
#include "runtime/hal/cuda/CudaArchitecture.h"
#include "runtime/hal/cuda/CudaDriver.h"

#include <atomic>
#include <memory>
#include <mutex>

namespace betz {

/// A device's primary context, which this process shares with any other user of
/// CUDA in it. Everything made on the device holds a reference. Thread-safe.
class CudaContext {
public:
  /// A driver without a device `ordinal` is Unavailable.
  static Result<std::shared_ptr<const CudaContext>> open(int ordinal);
  ~CudaContext();
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;

  /// "cuda:0 (NVIDIA H200, sm_90)".
  const std::string &name() const { return fullName; }
  CudaCapability capability() const { return gpu; }
  int multiprocessors() const { return smCount; }
  /// "0000:18:00.0"
  const std::string &busId() const { return pciBusId; }

  /// Runs `function(driver)`, which returns a CUresult, with the context
  /// current; a failure says that one cannot `attempted`, on which device, and
  /// when memory ran out how much is free. After a failure that leaves the
  /// context unusable, every call is that failure, without asking the driver.
  /// Allocates only to report one.
  template <typename F>
  Status call(std::string_view attempted, F function) const {
    if (isLost.load(std::memory_order_acquire))
      return lostStatus;
    CUresult result = driver.cuCtxPushCurrent(context);
    if (result == CUDA_SUCCESS) {
      result = function(driver);
      CUcontext popped;
      driver.cuCtxPopCurrent(&popped);
    }
    return result == CUDA_SUCCESS ? Status::ok() : error(result, attempted);
  }

  /// The same for what ends an object: tried on a lost device too, and without
  /// an answer.
  template <typename F> void release(F function) const {
    CUcontext popped;
    if (driver.cuCtxPushCurrent(context) != CUDA_SUCCESS)
      return;
    (void)function(driver);
    driver.cuCtxPopCurrent(&popped);
  }

  /// Copies now, and ready for every stream when it returns.
  Status writeNow(CUdeviceptr to, const void *from, size_t bytes) const;
  Status readNow(void *to, CUdeviceptr from, size_t bytes) const;
  Status zeroNow(CUdeviceptr to, size_t bytes) const;

private:
  CudaContext(const CudaDriver &driver, int ordinal)
      : driver(driver), ordinal(ordinal) {}
  Status initialize();
  Status error(CUresult result, std::string_view attempted) const;
  /// "; 1000 of its 4000 bytes are free"
  std::string freeMemory() const;

  const CudaDriver &driver;
  const int ordinal;
  std::string fullName;
  std::string pciBusId;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CudaCapability gpu;
  int smCount = 0;
  /// For the copies of writeNow and its like. Not the default stream, which
  /// other users of the primary context may have recorded or blocked.
  CUstream copies = nullptr;

  mutable std::mutex losing;
  mutable std::atomic<bool> isLost = false;
  /// Written once, under `losing`, before isLost.
  mutable Status lostStatus;
};

/// Device or pinned host memory.
class CudaBuffer : public Buffer {
public:
  static Result<std::unique_ptr<CudaBuffer>>
  allocate(std::shared_ptr<const CudaContext> context, size_t bytes);
  static Result<std::unique_ptr<CudaBuffer>>
  allocateStaging(std::shared_ptr<const CudaContext> context, size_t bytes);
  ~CudaBuffer() override;

  /// 0 for an empty buffer.
  CUdeviceptr address() const { return deviceAddress; }

private:
  CudaBuffer(std::shared_ptr<const CudaContext> context, size_t bytes,
             CUdeviceptr address, void *host)
      : Buffer(bytes, static_cast<std::byte *>(host)),
        context(std::move(context)), deviceAddress(address) {}

  std::shared_ptr<const CudaContext> context;
  CUdeviceptr deviceAddress;
};

} // namespace betz
