//===- TrainNetwork.h - A network's training, from module to weights ------===//
#pragma once

#include "passes/TrainingStep.h"
#include "tools/StartingWeights.h"
#include "tools/TrainOptions.h"
#include "train/build/Recipe.h"
#include "train/loop/NetworkDecoder.h"
#include "train/loop/Trainer.h"

#include "ir/Module.h"

namespace betz {

/// What is trained: modules in the model phase, one for the step (with dropout)
/// and one that val is scored by. The weights of `forward` are the step's first
/// ones.
struct Network {
  std::string name;
  mlir::ModuleOp step, forward;
  StartingWeights weights;
  /// Names of weights that stay as they are.
  std::vector<std::string> frozen = {};
  std::vector<passes::TrainingLoss> losses = {{"behavior", "target"}};
  train::Masking masking = {};
};

struct TrainedNetwork {
  std::unique_ptr<train::Trainer> trainer;
  /// Null where `forward` gives no behaviour.
  std::shared_ptr<train::NetworkDecoder> decoder;
  train::TrainingOutcome outcome;
  int64_t parameters = 0;
};

/// Trains as options and recipe say, in `folder`; the best weights on val are
/// the trainer's and the decoder's when it returns, unless `interrupted`
/// stopped it. Says on stderr how many steps fit into --minutes.
Result<TrainedNetwork> trainNetwork(const Network &network,
                                    const train::Dataset &dataset,
                                    const train::Recipe &recipe,
                                    const TrainOptions &options,
                                    const std::filesystem::path &folder,
                                    const std::atomic<bool> &interrupted);

/// Writes into `folder` what betz-rt needs to train `network` likewise;
/// `metadata` is that of its weights' file.
Status prepareNetwork(const Network &network, const train::Dataset &dataset,
                      const train::Recipe &recipe, const TrainOptions &options,
                      std::map<std::string, std::string> metadata,
                      const std::filesystem::path &folder);

} // namespace betz
