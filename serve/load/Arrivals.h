//===- Arrivals.h - When the requests of an open loop are sent ------------===//
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

namespace betz::serve {

enum class ArrivalPattern : uint8_t {
  Poisson, // at random, at one rate
  Bursts,  // kBurst at once, the bursts at random
  Ramp,    // at random, from no rate at the start to twice the mean at the end
};
inline constexpr int64_t kBurst = 16;

std::string_view toString(ArrivalPattern pattern);

/// Times since the start, ascending: `rate` a second in the mean, within
/// `length`. The same seed gives the same times.
std::vector<std::chrono::nanoseconds>
arrivalTimes(ArrivalPattern pattern, double rate,
             std::chrono::nanoseconds length, uint32_t seed);

} // namespace betz::serve
