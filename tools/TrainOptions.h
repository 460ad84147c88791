//===- TrainOptions.h - What `betz train` was asked for -------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace betz {

struct TrainOptions {
  std::vector<std::filesystem::path> recordings;
  /// A TOML file; empty for the default recipe.
  std::filesystem::path recipe;
  std::filesystem::path output;
  /// Weights to start from; empty for random ones.
  std::filesystem::path weights;
  /// "trunk": of the weights, only embeddings of units and sessions are
  /// trained. Or "".
  std::string freeze;
  bool freezeTrunk() const { return freeze == "trunk"; }
  /// Labels of train: a share of its trials, or so many, of each recording.
  std::optional<double> labelFraction;
  std::optional<int64_t> labelledTrials;
  uint64_t seed = 0;
  std::optional<int64_t> steps;
  std::optional<int64_t> pretrainSteps;
  /// Upper limit of the time that steps take.
  std::optional<double> minutes;
  std::string device = "cpu";
  int threads = 0;
  bool resume = false;
  /// No recurrent baseline beside the decoder.
  bool skipGru = false;
  /// Programs and first weights for betz-rt train instead of a run.
  bool compileOnly = false;
  std::filesystem::path json;

  /// Training on one batch of a file, against what another says of it.
  std::filesystem::path input, expected;
  double tolerance = 1e-4;
};

/// `--input C --expect T`: the steps that T's metadata describes, on C's batch.
Status trainOnBatch(const TrainOptions &options);

} // namespace betz
