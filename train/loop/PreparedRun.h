//===- PreparedRun.h - A run that needs no compiler -----------------------===//
#pragma once

#include "train/data/Dataset.h"
#include "train/loop/Trainer.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace betz::train {

/// What a run is made of, as a folder of `step.betz`, `forward.betz`,
/// `first.safetensors` and `run.json`. The last appears when all of it is
/// there.
struct PreparedRun {
  std::shared_ptr<const Program> step, forward;
  DataSpec data;
  TrainerOptions loop;
  /// Of the recordings that the programs were compiled for.
  int64_t neurons = 0, outputs = 0, maxEvents = 0;
  /// Of the weights file (train/loop/Parameters.h): first.safetensors' own.
  std::map<std::string, std::string> metadata;
  /// The trained weights' flat vector before the first step.
  std::vector<float> weights;
};

Status writePreparedRun(const PreparedRun &run,
                        const std::filesystem::path &folder);
Result<PreparedRun> readPreparedRun(const std::filesystem::path &folder);

/// An error that says what differs where the programs cannot train on
/// `dataset`.
Status checkFits(const PreparedRun &run, const Dataset &dataset);

} // namespace betz::train
