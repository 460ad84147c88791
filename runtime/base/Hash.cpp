#include "runtime/base/Hash.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace betz {

uint64_t hashBytes(const void *data, size_t size, uint64_t seed) {
  return XXH3_64bits_withSeed(data, size, seed);
}

std::string toHex(uint64_t hash) { return fmt::format("{:016x}", hash); }

} // namespace betz
