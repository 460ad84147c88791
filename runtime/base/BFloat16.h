//===- BFloat16.h - The upper half of an f32 ------------------------------===//
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace betz {

/// The bits of the nearest bf16, to even where two are as near. Too large
/// becomes infinity; a NaN stays a NaN of its sign.
inline uint16_t toBFloat16(double value) {
  const float nearest = float(value);
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (std::isnan(value))
    return uint16_t(bits >> 16 | 0x40);
  // Rounding twice would take what lies just beside the middle of two bf16 for
  // the middle itself, so the f32 between is the one with an odd last bit.
  if (double(nearest) != value) {
    if (std::fabs(double(nearest)) > std::fabs(value))
      --bits;
    bits |= 1;
  }
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float fromBFloat16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

} // namespace betz
