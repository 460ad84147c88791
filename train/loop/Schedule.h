//===- Schedule.h - The learning rate of each step ------------------------===//
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace betz::train {

/// Linear warm-up, then a cosine down to `finalFraction` of the peak.
struct Schedule {
  int64_t steps = 1;
  int64_t warmupSteps = 0;
  double learningRate = 1e-3;
  double finalFraction = 0;
  /// The peak from the first step to the last.
  bool constant = false;

  /// Of step 0, 1, ...
  double rate(int64_t step) const {
    if (constant)
      return learningRate;
    if (step < warmupSteps)
      return learningRate * double(step + 1) / double(warmupSteps);
    const double done = double(step - warmupSteps) /
                        double(std::max<int64_t>(1, steps - warmupSteps));
    const double cosine = 0.5 * (1 + std::cos(std::numbers::pi * done));
    return learningRate * (finalFraction + (1 - finalFraction) * cosine);
  }
};

/// Input `schedule` of a training step (betz.adamw): rate, the corrections of
/// both moments for step `step` (from 0), and the gradient's factor.
inline std::array<float, 4> scheduleInput(const Schedule &schedule,
                                          int64_t step, double beta1,
                                          double beta2) {
  const double t = double(step + 1);
  return {float(schedule.rate(step)), float(1 / (1 - std::pow(beta1, t))),
          float(1 / (1 - std::pow(beta2, t))), 1.0f};
}

} // namespace betz::train
