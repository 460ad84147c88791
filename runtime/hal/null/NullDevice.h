//===- NullDevice.h - A device that counts and does nothing ---------------===//
#pragma once

#include "runtime/hal/Device.h"

namespace betz {

/// What was asked of a null device. Launches and copies inside a graph count
/// each time it is replayed.
struct NullCounters {
  int64_t allocations = 0;
  int64_t allocatedBytes = 0;
  int64_t executables = 0;
  int64_t captures = 0;
  int64_t launches = 0;
  int64_t copiesToDevice = 0;
  int64_t copiesToHost = 0;
  int64_t graphLaunches = 0;
  int64_t synchronizations = 0;
  int64_t marks = 0;

  bool operator==(const NullCounters &) const = default;
};

/// Stands for any accelerator: its device memory is out of the host's reach,
/// it takes every target's code and runs none; copies to the host give zeros.
/// Of its clock, a launch takes a microsecond and nothing else takes time.
/// Unlike other devices, for one thread only.
class NullDevice : public Device {
public:
  const NullCounters &counters() const { return counts; }

  std::string name() const override { return "null"; }
  bool supports(std::string_view, std::string_view) const override {
    return true;
  }
  Result<std::unique_ptr<Buffer>> allocate(size_t bytes,
                                           MemoryKind kind) override;
  Result<std::unique_ptr<Buffer>>
  wrapHost(std::span<const std::byte> bytes) override;
  Result<std::unique_ptr<Executable>>
  loadExecutable(std::span<const std::byte> code,
                 std::span<const std::string> kernels) override;
  Result<std::unique_ptr<Stream>> createStream() override;

private:
  NullCounters counts;
};

} // namespace betz
