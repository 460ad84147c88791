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

/// Whether every session is cut by trials that hold the column `name`.
bool haveTrialTimes(const Dataset &dataset, std::string_view name);

/// For each row of a split the milliseconds from the time that the trial's
/// column `align` holds ("start_time" and "stop_time" too) to its last bin's
/// centre; NaN in trials where it is missing.
std::vector<double> alignedMs(const Dataset &dataset, Split split,
                              std::string_view align);

/// Rows whose last bin's centre lies from `startMs` to `stopMs` (excluded)
/// after the trial's `align`; none in trials where it is missing.
RowMask alignedRows(const Dataset &dataset, Split split, std::string_view align,
                    double startMs, double stopMs);

} // namespace betz::train
