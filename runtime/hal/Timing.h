//===- Timing.h - How long recorded work takes on a device ----------------===//
#pragma once

#include "runtime/hal/Stream.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace betz {

/// Median seconds of a replay of `graph`. Replays are given back to back, so
/// that the device waits for the host at the first one only. Uses the stream's
/// first marks.
inline Result<double> timeReplays(Stream &stream, CommandGraph &graph) {
  constexpr uint32_t kWarmups = 2, kReplays = 15;
  for (uint32_t i = 0; i < kWarmups; ++i)
    BETZ_RETURN_IF_ERROR(stream.launchGraph(graph));
  for (uint32_t i = 0; i < kReplays; ++i) {
    BETZ_RETURN_IF_ERROR(stream.mark(i));
    BETZ_RETURN_IF_ERROR(stream.launchGraph(graph));
  }
  BETZ_RETURN_IF_ERROR(stream.mark(kReplays));
  BETZ_RETURN_IF_ERROR(stream.synchronize());
  std::vector<double> samples;
  for (uint32_t i = 0; i < kReplays; ++i) {
    BETZ_ASSIGN_OR_RETURN(double seconds, stream.secondsBetween(i, i + 1));
    samples.push_back(seconds);
  }
  std::ranges::nth_element(samples, samples.begin() + kReplays / 2);
  return samples[kReplays / 2];
}

/// Seconds of one call of `enqueue(i)`, which gives the stream work for call i
/// and returns a Status: the median over replays of a graph that holds a
/// multiple of `period` calls, enough of them that starting it does not count.
template <typename Enqueue>
Result<double> timeInGraph(Stream &stream, size_t period, Enqueue enqueue) {
  constexpr double kGraphSeconds = 1e-3;
  constexpr size_t kMostCalls = 512;
  auto timeCalls = [&](size_t calls) -> Result<double> {
    BETZ_RETURN_IF_ERROR(stream.beginCapture());
    Status recorded;
    for (size_t i = 0; i < calls && recorded.isOk(); ++i)
      recorded = enqueue(i);
    BETZ_ASSIGN_OR_RETURN(std::unique_ptr<CommandGraph> graph,
                          stream.endCapture());
    BETZ_RETURN_IF_ERROR(std::move(recorded));
    BETZ_ASSIGN_OR_RETURN(double seconds, timeReplays(stream, *graph));
    return seconds / double(calls);
  };
  BETZ_ASSIGN_OR_RETURN(double rough, timeCalls(period));
  const double wanted = rough > 0 ? kGraphSeconds / rough : double(kMostCalls);
  const size_t rounds =
      size_t(std::ceil(std::min(wanted, double(kMostCalls)) / double(period)));
  return rounds <= 1 ? Result<double>(rough) : timeCalls(rounds * period);
}

} // namespace betz
