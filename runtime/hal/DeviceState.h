//===- DeviceState.h - What a device says of itself -----------------------===//
#pragma once

#include <cstdint>
#include <optional>

namespace betz {

/// At a moment; what a device cannot say is absent.
struct DeviceState {
  std::optional<double> utilization; // of recent time in which it worked, 0..1
  std::optional<int64_t> memoryUsed, memoryTotal; // bytes, of all processes
  std::optional<double> watts;
  std::optional<double> coreHertz, memoryHertz;
};

} // namespace betz
