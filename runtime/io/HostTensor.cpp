#include "runtime/io/HostTensor.h"

#include <array>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace betz {
namespace {

struct Pair {
  std::string_view file;
  DType host;
};
constexpr std::array<Pair, 5> kPairs = {{{"F32", DType::F32},
                                         {"F64", DType::F64},
                                         {"BF16", DType::BF16},
                                         {"I32", DType::I32},
                                         {"I8", DType::I8}}};

/// memcpy refuses null pointers even for no bytes.
void copyBytes(std::byte *to, std::span<const std::byte> from) {
  if (!from.empty())
    std::memcpy(to, from.data(), from.size());
}

Result<HostTensor> narrow(const SafeTensor &tensor) {
  size_t count = tensor.bytes.size() / sizeof(int64_t);
  HostTensor host{tensor.name, DType::I32, tensor.shape, {}};
  host.data.resize(count * sizeof(int32_t));
  for (size_t i = 0; i < count; ++i) {
    int64_t value;
    std::memcpy(&value, tensor.bytes.data() + i * sizeof(value), sizeof(value));
    if (value < std::numeric_limits<int32_t>::min() ||
        value > std::numeric_limits<int32_t>::max())
      return invalidArgument(fmt::format(
          "tensor \"{}\": element {} is {}, which does not fit in i32",
          tensor.name, i, value));
    host.as<int32_t>()[i] = static_cast<int32_t>(value);
  }
  return host;
}

} // namespace

Result<HostTensor> toHost(const SafeTensor &tensor) {
  if (tensor.dtype == "I64")
    return narrow(tensor);
  for (const Pair &pair : kPairs) {
    if (pair.file != tensor.dtype)
      continue;
    HostTensor host{tensor.name, pair.host, tensor.shape, {}};
    host.data.resize(tensor.bytes.size());
    copyBytes(host.data.data(), tensor.bytes);
    return host;
  }
  return invalidArgument(fmt::format(
      "tensor \"{}\" is {}; convert it to F32, F64, BF16, I32, I8 or I64",
      tensor.name, tensor.dtype));
}

SafeTensor toSafe(const HostTensor &tensor) {
  std::string_view dtype;
  for (const Pair &pair : kPairs)
    if (pair.host == tensor.dtype)
      dtype = pair.file;
  return {tensor.name, std::string(dtype), tensor.shape, tensor.data};
}

} // namespace betz
