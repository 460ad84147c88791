//===- Nvml.h - NVIDIA's management library, found at run time ------------===//
#pragma once

#include "runtime/hal/DeviceState.h"

#include <string>

namespace betz {

/// What libnvidia-ml.so.1 says of the GPU on this PCI bus address ("0000:18:
/// 00.0") now. Empty where the library, or its answer, is missing. Thread-safe.
DeviceState readNvml(const std::string &pciBusId);

} // namespace betz
