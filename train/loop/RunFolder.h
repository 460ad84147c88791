//===- RunFolder.h - A run before its first step and after its last -------===//
#pragma once

#include "runtime/base/Json.h"
#include "train/loop/Trainer.h"

namespace betz::train {

/// An error where a run that is started would be lost, or one that is to go on
/// is not there.
Status checkRunFolder(const std::filesystem::path &folder, bool isStarted,
                      bool resume);

/// For a report: `val_r2 best_step steps seconds`.
Json toJson(const TrainingOutcome &outcome);
/// One line for people.
std::string toText(const TrainingOutcome &outcome);

} // namespace betz::train
