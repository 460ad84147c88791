//===- OpenDevice.h - A device by its name --------------------------------===//
#pragma once

#include "runtime/hal/Device.h"
#include "runtime/hal/DeviceState.h"

#include <optional>

namespace betz {

struct DeviceOptions {
  /// Threads of a cpu device; 0 means one for each core.
  int threads = 0;
};

/// N of "cuda:N", 0 of "cuda"; nothing for another name.
std::optional<int> cudaOrdinal(std::string_view name);

/// "cpu", "cuda" (the first GPU), "cuda:N" or "null". Another name is an error
/// that lists these; a GPU that cannot be opened is Unavailable and says why.
Result<std::shared_ptr<Device>> openDevice(std::string_view name,
                                           const DeviceOptions &options);

/// Of the device of this name, now; empty for all but a GPU.
DeviceState readDeviceState(std::string_view name);

} // namespace betz
