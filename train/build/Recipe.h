//===- Recipe.h - How a decoder is trained --------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "train/data/Batches.h"
#include "train/data/DataSpec.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace betz::train {

/// A run's TOML file, table by table; the defaults are the recipe for any
/// recording. docs/training.md explains the keys.
struct Recipe {
  /// [model]: keys of a model TOML that are not decided by the recordings, as
  /// text.
  std::map<std::string, std::string> model = {
      {"dim", "64"},     {"layers", "1"},     {"heads", "4"},
      {"latents", "16"}, {"norm", "rmsnorm"}, {"time", "rotary"}};

  /// [data]
  DataSpec data;

  /// [train]
  int64_t steps = 12000;
  int64_t batch = 64;
  /// Batches whose gradients a step adds up.
  int64_t accumulate = 1;
  double learningRate = 1e-3;
  int64_t warmupSteps = 100;
  /// Of the peak, at the last step.
  double finalRate = 0.02;
  double weightDecay = 0.05;
  double clip = 1;
  double beta1 = 0.9, beta2 = 0.99;
  /// Share of what each attention and MLP adds that is silent.
  double dropout = 0;
  double averageDecay = 0.995;
  int64_t scoreEvery = 200;
  int64_t keepBest = 1;
  int64_t patience = 15;
  int64_t shards = 1;
  std::string precision = "f32";

  /// [pretrain]: steps of masked-spike training before the behaviour's; the
  /// share of events that is masked; and the weight of the masked spikes' loss
  /// beside the behaviour's.
  int64_t pretrainSteps = 0;
  double mask = 0.25;
  double beside = 0;

  /// [augment]
  Augmentation augment = {
      .unitDropout = 0.2, .spikeDropout = 0.8, .addedSpikes = 0.4};
};

/// Unknown keys, wrong types and impossible values are errors that name file
/// and line.
Result<Recipe> readRecipe(const std::filesystem::path &path);

} // namespace betz::train
