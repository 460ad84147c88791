#include "serve/engine/ServiceTimes.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace betz::serve {
namespace {

/// The weight of a new measurement.
constexpr double kGain = 1.0 / 16;
/// A measurement this many times the mean counts as no more than that: one
/// stall of the machine says little about the next batch.
constexpr double kOutlier = 3;

std::chrono::nanoseconds toNanoseconds(double seconds) {
  return std::chrono::nanoseconds(std::llround(seconds * 1e9));
}

} // namespace

/// Exact up to 16 windows, then four classes an octave.
int ServiceTimes::windowClass(int64_t windows) {
  if (windows <= 16)
    return int(std::max<int64_t>(windows, 0));
  const int octave = std::bit_width(uint64_t(windows)) - 1;
  const int quarter = int(windows >> (octave - 2)) & 3;
  return std::min(16 + 4 * (octave - 4) + quarter, kWindowClasses - 1);
}

/// Two classes an octave of events a window.
int ServiceTimes::eventClass(int64_t windows, int64_t events) {
  const uint64_t each = uint64_t(events / std::max<int64_t>(windows, 1));
  if (each < 2)
    return int(each);
  const int octave = std::bit_width(each) - 1;
  const int half = int(each >> (octave - 1)) & 1;
  return std::min(2 * octave + half, kEventClasses - 1);
}

void ServiceTimes::learn(int64_t windows, int64_t events,
                         std::chrono::nanoseconds time) {
  Row &row = rows[size_t(eventClass(windows, events))];
  const int index = windowClass(windows);
  Cell &cell = row.cells[size_t(index)];
  double seconds = double(time.count()) * 1e-9;
  if (cell.samples == 0) {
    cell = {double(windows), seconds, seconds / 8, 0};
  } else {
    seconds = std::min(seconds, kOutlier * cell.seconds);
    // The first measurements count alike.
    const double gain = std::max(kGain, 1.0 / double(cell.samples + 1));
    cell.deviation +=
        gain * (std::abs(seconds - cell.seconds) - cell.deviation);
    cell.seconds += gain * (seconds - cell.seconds);
    cell.windows += gain * (double(windows) - cell.windows);
  }
  ++cell.samples;
  row.known |= uint64_t(1) << index;
}

ServiceTime ServiceTimes::interpolate(const Row &row, int64_t windows) {
  const int index = windowClass(windows);
  const uint64_t upTo = row.known & (~uint64_t(0) >> (63 - index));
  const uint64_t from = row.known & (~uint64_t(0) << index);
  const Cell &low = row.cells[size_t(upTo ? 63 - std::countl_zero(upTo)
                                          : std::countr_zero(row.known))];
  const Cell &high = row.cells[size_t(from ? std::countr_zero(from)
                                           : 63 - std::countl_zero(row.known))];
  double seconds = low.seconds;
  if (low.windows < high.windows) {
    const double part =
        (double(windows) - low.windows) / (high.windows - low.windows);
    seconds += std::clamp(part, 0.0, 1.0) * (high.seconds - low.seconds);
  } else if (upTo && low.windows > 0 && double(windows) > low.windows) {
    seconds *= double(windows) / low.windows;
  }
  return {toNanoseconds(seconds),
          toNanoseconds(std::max(low.deviation, high.deviation))};
}

ServiceTime ServiceTimes::predict(int64_t windows, int64_t events) const {
  const int wanted = eventClass(windows, events);
  for (int distance = 0; distance < kEventClasses; ++distance)
    for (int index : {wanted + distance, wanted - distance})
      if (index >= 0 && index < kEventClasses && rows[size_t(index)].known)
        return interpolate(rows[size_t(index)], windows);
  return {};
}

} // namespace betz::serve
