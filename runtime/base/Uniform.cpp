#include "runtime/base/Uniform.h"
#include "runtime/base/BFloat16.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace betz {

std::vector<std::byte> uniformElements(DType dtype, size_t bytes) {
  constexpr size_t kPeriod = 1 << 20;
  std::vector<std::byte> elements(bytes);
  std::mt19937 random(1);
  const size_t size = sizeOf(dtype);
  const size_t first = std::min(bytes, kPeriod);
  for (size_t at = 0; at + size <= first; at += size) {
    // Division by a power of two is exact.
    const float value = float(int32_t(random() >> 8) - (1 << 23)) / (1 << 23);
    const uint16_t narrow = toBFloat16(value);
    if (dtype == DType::BF16)
      std::memcpy(&elements[at], &narrow, size);
    else
      std::memcpy(&elements[at], &value, size);
  }
  for (size_t at = first; at < bytes; at += kPeriod)
    std::memcpy(&elements[at], elements.data(), std::min(kPeriod, bytes - at));
  return elements;
}

} // namespace betz
