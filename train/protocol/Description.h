//===- Description.h - Somebody's protocol, to be looked at ---------------===//
#pragma once

#include "runtime/base/Status.h"
#include "train/data/DataSpec.h"

#include <filesystem>
#include <string>
#include <vector>

namespace betz::train {

enum class TargetBin { Last, Middle, First };
enum class Smoothing { None, Causal, Symmetric };
enum class SplitBy { Trial, Window };
enum class BehaviorRows { Time, Number, Interpolated };

/// How samples are made and judged; docs/training.md has the keys.
struct ProtocolDescription {
  std::vector<std::filesystem::path> recordings;
  /// binMs, historyBins, strideBins, seed and series.
  DataSpec spec;
  /// The window's bin that the target belongs to.
  TargetBin target = TargetBin::Last;
  /// Windows hold spikes from before their trial.
  bool crossesTrials = false;
  /// Windows may begin before their trial, empty there; else only whole
  /// windows are taken.
  bool padded = true;
  Smoothing smoothing = Smoothing::None;
  /// Standard deviation of the kernel.
  double smoothingMs = 0;
  SplitBy split = SplitBy::Trial;
  /// z-scores come from train only.
  bool scaleFromTrain = true;
  /// How a bin finds its behaviour: by the rows' times, by counting rows, or
  /// by interpolation between the rows on either side.
  BehaviorRows rows = BehaviorRows::Time;
  /// A clock may not score more.
  double clockR2Limit = 0.1;

  /// From TOML; recordings are relative to the file. Errors name file and line.
  static Result<ProtocolDescription> read(const std::filesystem::path &file);
};

} // namespace betz::train
