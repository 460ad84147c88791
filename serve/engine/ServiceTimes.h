//===- ServiceTimes.h - How long a batch will take ------------------------===//
#pragma once

#include "serve/engine/Request.h"

#include <array>

namespace betz::serve {

/// A time and how far measurements are from it, in the mean.
struct ServiceTime {
  std::chrono::nanoseconds mean{0};
  std::chrono::nanoseconds deviation{0};
};

/// Learns the time of batches of one program by their windows and their events
/// a window. Moving averages, so that it follows a device that slows down. Not
/// thread-safe.
class ServiceTimes {
public:
  void learn(int64_t windows, int64_t events, std::chrono::nanoseconds time);

  /// Between batch sizes that were measured, on the line between them; above
  /// the largest, in proportion to the windows; with events that were not
  /// measured, as with the nearest that were. Zero when nothing was learned.
  ServiceTime predict(int64_t windows, int64_t events) const;

private:
  static constexpr int kWindowClasses = 64;
  static constexpr int kEventClasses = 40;
  struct Cell {
    double windows = 0; // mean of those measured
    double seconds = 0;
    double deviation = 0;
    uint64_t samples = 0;
  };
  struct Row {
    std::array<Cell, kWindowClasses> cells{};
    uint64_t known = 0; // a bit for each cell that has samples
  };

  static int windowClass(int64_t windows);
  static int eventClass(int64_t windows, int64_t events);
  static ServiceTime interpolate(const Row &row, int64_t windows);

  std::array<Row, kEventClasses> rows{};
};

} // namespace betz::serve
