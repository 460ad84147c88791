//===- Synth.h - Recordings made up, with known truth ---------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <filesystem>

namespace betz {

/// A centre-out session: reaches in eight directions after a delay, and units
/// whose rates follow the hand's velocity about 100 ms ahead of it.
struct SynthSpec {
  /// The same spec gives the same bytes.
  uint64_t seed = 1;
  /// 1 to kMaxSynthTrials, about 2.9 s each, with gaps of 0.2 to 0.7 s.
  int64_t trials = 100;
  /// 1 to kMaxSynthUnits: two arrays of 96 electrodes, nine units on each.
  int64_t units = 96;
};

inline constexpr int64_t kMaxSynthTrials = 1'000'000;
inline constexpr int64_t kMaxSynthUnits = 2 * 96 * 9;

/// Writes the session to `path` in the layout of an MC_Maze training file:
/// units, trials with a 60/20/20 split, hand_pos and hand_vel at 1 kHz without
/// rows between trials.
Status synthesizeSession(const SynthSpec &spec,
                         const std::filesystem::path &path);

} // namespace betz
