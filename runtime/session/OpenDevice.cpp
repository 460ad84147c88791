#include "runtime/session/OpenDevice.h"
#include "runtime/hal/cpu/CpuDevice.h"
#include "runtime/hal/null/NullDevice.h"

#include <fmt/format.h>

namespace betz {

Result<std::shared_ptr<Device>> openDevice(std::string_view name,
                                           const DeviceOptions &options) {
  if (name == "cpu") {
    BETZ_ASSIGN_OR_RETURN(std::shared_ptr<Device> device,
                          createCpuDevice({.threads = options.threads}));
    return device;
  }
  if (name == "null")
    return std::shared_ptr<Device>(new NullDevice);
  return invalidArgument(
      fmt::format("no device \"{}\"; use cpu or null", name));
}

} // namespace betz
