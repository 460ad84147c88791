//===- TrainNetwork.h - A network's training, from module to weights ------===//
#pragma once

#include "tools/TrainOptions.h"
#include "train/build/Recipe.h"
#include "train/loop/Trainer.h"

#include "ir/Module.h"

namespace betz {

/// What is trained: modules in the model phase with the same weights, one for
/// the step (with dropout) and one to decode with.
struct Network {
  std::string name;
  mlir::ModuleOp step, forward;
};

struct TrainedNetwork {
  std::unique_ptr<train::Trainer> trainer;
  train::TrainingOutcome outcome;
  int64_t parameters = 0;
};

/// Trains as options and recipe say, in `folder`; the best weights on val are
/// the decoder's when it returns, unless `interrupted` stopped it. Says on
/// stderr how many steps fit into --minutes.
Result<TrainedNetwork> trainNetwork(const Network &network,
                                    const train::Dataset &dataset,
                                    const train::Recipe &recipe,
                                    const TrainOptions &options,
                                    const std::filesystem::path &folder,
                                    const std::atomic<bool> &interrupted);

} // namespace betz
