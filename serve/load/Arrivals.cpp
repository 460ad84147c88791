#include "serve/load/Arrivals.h"

#include <cmath>
#include <random>

namespace betz::serve {

std::string_view toString(ArrivalPattern pattern) {
  switch (pattern) {
  case ArrivalPattern::Poisson:
    return "poisson";
  case ArrivalPattern::Bursts:
    return "bursts";
  case ArrivalPattern::Ramp:
    return "ramp";
  }
  return "unknown";
}

std::vector<std::chrono::nanoseconds>
arrivalTimes(ArrivalPattern pattern, double rate,
             std::chrono::nanoseconds length, uint32_t seed) {
  std::mt19937 random(seed);
  const double seconds = double(length.count()) * 1e-9;
  const int64_t together = pattern == ArrivalPattern::Bursts ? kBurst : 1;
  std::exponential_distribution<double> gap(rate / double(together));
  std::vector<std::chrono::nanoseconds> times;
  for (double time = gap(random); time < seconds; time += gap(random)) {
    // A process of constant rate on the time t becomes one whose rate grows in
    // proportion to it at sqrt(t * length).
    const double at =
        pattern == ArrivalPattern::Ramp ? std::sqrt(time * seconds) : time;
    for (int64_t i = 0; i < together; ++i)
      times.emplace_back(std::llround(at * 1e9));
  }
  return times;
}

} // namespace betz::serve
