//===- SloBurn.h - How fast the budget for slow answers is spent ----------===//
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace betz::serve {

/// Requests of the last hour, good and bad, in slots of ten seconds. Not
/// thread-safe.
class SloBurn {
public:
  using Clock = std::chrono::steady_clock;

  /// The share of requests that may be bad.
  static constexpr double kBudget = 0.01;
  static constexpr std::chrono::seconds kSlot{10};
  static constexpr std::chrono::hours kLongest{1};

  /// `now` never goes back.
  void add(bool isGood, Clock::time_point now);

  /// The share of bad requests among those of the last `window`, over kBudget:
  /// at 1 the budget is spent just as it is earned. 0 without requests.
  /// `window` is at most kLongest; it is kept to a slot.
  double rate(std::chrono::nanoseconds window, Clock::time_point now) const;

private:
  struct Slot {
    int64_t number = -1; // of the slot since the clock's start
    uint64_t all = 0;
    uint64_t bad = 0;
  };
  static int64_t slotNumber(Clock::time_point now) {
    return now.time_since_epoch() / kSlot;
  }

  std::array<Slot, kLongest / kSlot> slots{};
};

} // namespace betz::serve
