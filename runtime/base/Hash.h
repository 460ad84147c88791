//===- Hash.h - Content hashing (XXH3, 64 bit) ----------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace betz {

/// XXH3-64 of `size` bytes. Not cryptographic: it finds damage, not forgery.
uint64_t hashBytes(const void *data, size_t size, uint64_t seed = 0);
inline uint64_t hashBytes(std::string_view bytes, uint64_t seed = 0) {
  return hashBytes(bytes.data(), bytes.size(), seed);
}

/// 16 lower-case hexadecimal digits.
std::string toHex(uint64_t hash);

} // namespace betz
