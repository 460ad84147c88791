//===- Tasks.h - What a tuner measures, and what it picks -----------------===//
#pragma once

#include "codegen/common/KernelSpec.h"

#include <string>
#include <vector>

namespace betz::tune {

/// The launches of one bucket whose specs differ in nothing but, perhaps, the
/// tile.
struct Task {
  size_t plan = 0;
  /// Of that plan, ascending; never empty.
  std::vector<size_t> launches;
  /// Of the first launch.
  std::string kernel, section;
  /// With the tile that the program has.
  KernelSpec spec;
};

/// All of a target, by plan and first launch. The error names a kernel whose
/// spec cannot be read.
Result<std::vector<Task>> listTasks(const TargetVariant &target);

/// One tile, and what came of it.
struct Trial {
  TileConfig tile;
  /// Of one launch; 0 where it was rejected.
  double seconds = 0;
  /// Why it was not measured.
  std::string rejected = {};

  bool isMeasured() const { return rejected.empty(); }
};

/// The fastest that was measured. One that gains less than `kNoise` over the
/// first trial is not taken in its place; where nothing was measured it is the
/// first.
inline constexpr double kNoise = 0.01;
size_t pickWinner(const std::vector<Trial> &trials);

/// Adds `tile` unless a trial has it; returns its number.
size_t addTrial(std::vector<Trial> &trials, const TileConfig &tile);

/// "won", "12.5 % slower" or why it was rejected.
std::string verdict(const std::vector<Trial> &trials, size_t winner,
                    size_t trial);

/// Bytes that an operand reaches over from its base, one row at least.
int64_t reachBytes(const OperandSpec &operand,
                   std::span<const int64_t> extents);

/// Bytes that a step touches: each distinct operand once.
Result<int64_t> workingSetBytes(const TargetVariant &target,
                                const LaunchPlan &plan,
                                std::span<const int64_t> extents);

} // namespace betz::tune
