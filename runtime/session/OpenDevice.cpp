#include "runtime/session/OpenDevice.h"
#include "runtime/hal/cpu/CpuDevice.h"
#include "runtime/hal/cuda/CudaDevice.h"
#include "runtime/hal/null/NullDevice.h"

#include <charconv>
#include <fmt/format.h>

namespace betz {

std::optional<int> cudaOrdinal(std::string_view name) {
  constexpr std::string_view prefix = "cuda:";
  if (name == "cuda")
    return 0;
  if (!name.starts_with(prefix))
    return std::nullopt;
  name.remove_prefix(prefix.size());
  unsigned ordinal = 0;
  auto [end, error] =
      std::from_chars(name.data(), name.data() + name.size(), ordinal);
  if (error != std::errc() || end != name.data() + name.size() ||
      ordinal > INT32_MAX)
    return std::nullopt;
  return int(ordinal);
}

Result<std::shared_ptr<Device>> openDevice(std::string_view name,
                                           const DeviceOptions &options) {
  if (name == "cpu") {
    BETZ_ASSIGN_OR_RETURN(std::shared_ptr<Device> device,
                          createCpuDevice({.threads = options.threads}));
    return device;
  }
  if (std::optional<int> ordinal = cudaOrdinal(name)) {
    BETZ_ASSIGN_OR_RETURN(std::shared_ptr<Device> device,
                          createCudaDevice(*ordinal));
    return device;
  }
  if (name == "null")
    return std::shared_ptr<Device>(new NullDevice);
  return invalidArgument(
      fmt::format("no device \"{}\"; use cpu, cuda, cuda:N or null", name));
}

DeviceState readDeviceState(std::string_view name) {
  const std::optional<int> ordinal = cudaOrdinal(name);
  return ordinal ? readCudaState(*ordinal) : DeviceState();
}

} // namespace betz
