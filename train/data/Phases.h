//===- Phases.h - Where in its trial a sample lies ------------------------===//
#pragma once

#include "train/data/Dataset.h"
#include "train/score/Score.h"

#include <string>
#include <string_view>
#include <vector>

namespace betz::train {

/// Rows of a split by phase of the trial.
struct Phases {
  std::vector<std::string> names;
  /// A mask for each name; a row is in one of them at most.
  std::vector<RowMask> rows;
};

/// "before go", "go to onset" and "after onset" where every session has the
/// trial columns go_cue_time and move_onset_time, else thirds of the trial's
/// time; nothing when a session is split by blocks.
Phases phasesOf(const Dataset &dataset, Split split);

/// Rows whose last bin's centre lies from `startMs` to `stopMs` (excluded)
/// after the time that the trial's column `align` holds ("start_time" and
/// "stop_time" too); none in trials where it is missing or NaN.
RowMask alignedRows(const Dataset &dataset, Split split, std::string_view align,
                    double startMs, double stopMs);

} // namespace betz::train
