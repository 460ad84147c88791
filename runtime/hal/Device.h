//===- Device.h - The border between the runtime and hardware -------------===//
//
// Drivers implement Device and Stream: 14 methods, and no more than 15 ever. A
// new driver starts as a copy of runtime/hal/null and a row in
// tests/runtime/hal; docs/runtime.md says what each method is on a GPU.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/hal/Stream.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace betz {

/// What a device says of itself at a moment; what it cannot say is absent.
struct DeviceState {
  std::optional<double> utilization; // of recent time in which it worked, 0..1
  std::optional<int64_t> memoryUsed, memoryTotal; // bytes, of all processes
  std::optional<double> watts;
  std::optional<double> coreHertz, memoryHertz;
};

/// One processor that runs kernels. Thread-safe.
class Device {
public:
  virtual ~Device() = default;
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  /// For messages: "cpu (avx2, 2 threads)".
  virtual std::string name() const = 0;

  /// Whether it runs code compiled for `target` ("cpu", "cuda:sm_90a") at
  /// instruction-set level `isa` ("avx2", "sm_90a").
  virtual bool supports(std::string_view target,
                        std::string_view isa) const = 0;

  /// Zeroed memory, aligned to 64 bytes or more; zero bytes are legal. Pages
  /// that nothing touches may cost nothing.
  virtual Result<std::unique_ptr<Buffer>> allocate(size_t bytes,
                                                   MemoryKind kind) = 0;

  /// Read-only memory for kernels with the given contents: the same memory
  /// where the device reaches it, else a copy. `bytes` outlive the buffer.
  virtual Result<std::unique_ptr<Buffer>>
  wrapHost(std::span<const std::byte> bytes) = 0;

  /// Loads machine code; `kernels` are the names of its entry points. A name
  /// that is not there and code that is none are errors. `code` is copied.
  virtual Result<std::unique_ptr<Executable>>
  loadExecutable(std::span<const std::byte> code,
                 std::span<const std::string> kernels) = 0;

  virtual Result<std::unique_ptr<Stream>> createStream() = 0;

  /// For reports. May take milliseconds.
  virtual DeviceState state() const { return {}; }

protected:
  Device() = default;
};

} // namespace betz
