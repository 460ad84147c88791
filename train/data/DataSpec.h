//===- DataSpec.h - What a sample is --------------------------------------===//
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace betz::train {

enum class Split : uint8_t { Train, Val, Test };

inline constexpr std::array<Split, 3> kSplits = {Split::Train, Split::Val,
                                                 Split::Test};

std::string_view toString(Split split);

/// Value buckets that cut no count, for networks that read counts themselves.
inline constexpr int32_t kAllCounts = 1 << 20;

/// The protocol that samples follow. A sample is a window of `historyBins` bins
/// and the behaviour at its last bin; docs/training.md says how recordings are
/// cut.
struct DataSpec {
  /// Milliseconds; 0 takes the step of the first recording's behaviour if that
  /// is 10 ms or more, else 20 ms.
  double binMs = 0;
  int32_t historyBins = 15;
  /// Bins from one sample of a piece to the next.
  int32_t strideBins = 1;
  /// An event's value is min(spike count, valueBuckets - 1).
  int32_t valueBuckets = 8;
  /// Behaviour is asked for at this many bins of the window, `targetStepBins`
  /// apart, the last of them the window's last bin. More than one looks ahead:
  /// the earlier times see spikes after them.
  int32_t targetTimes = 1;
  int32_t targetStepBins = 1;
  /// Of splits that the file does not give.
  uint64_t seed = 0;
  /// Behaviour of train is known for this share of its pieces, or for so many,
  /// of each recording, drawn by `seed`; the others give no sample. Not both.
  std::optional<double> labelFraction;
  std::optional<int64_t> labelledTrials;
  /// The behaviour to predict; "" for the usual one (Recording::chooseSeries).
  std::string series;
};

} // namespace betz::train
