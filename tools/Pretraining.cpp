#include "tools/Pretraining.h"

#include <algorithm>

namespace betz {

using namespace train;

TrainingParts trainingParts(const Recipe &recipe, const Dataset &dataset,
                            int64_t queries) {
  return {.spikeQueries = queries,
          .dropout = recipe.dropout,
          .sessions = dataset.sessions() > 1 ? dataset.sessions() : 0};
}

namespace {

/// The behaviour head has no gradient here, and weight decay must not reach it.
std::vector<std::string> frozenWeights(const StartingWeights &weights,
                                       bool freezeTrunk) {
  std::vector<std::string> frozen;
  if (freezeTrunk)
    frozen = weights.trunk;
  for (const auto &[name, value] : weights.values)
    if (name.starts_with("behavior_head.") &&
        std::ranges::find(frozen, name) == frozen.end())
      frozen.push_back(name);
  return frozen;
}

} // namespace

Result<TrainedNetwork>
trainOnSpikes(mlir::MLIRContext &context, const ModelDescription &description,
              const Dataset &dataset, const Recipe &recipe,
              const TrainOptions &options, const std::filesystem::path &folder,
              const std::atomic<bool> &interrupted) {
  Recipe own = recipe;
  own.steps = recipe.pretrainSteps;
  // The mask takes its place.
  own.augment.spikeDropout = 0;
  own.augment.addedSpikes = 0;
  const Masking masking = {recipe.mask, maskQueries(dataset, recipe.mask)};
  TrainingParts parts = trainingParts(own, dataset, masking.queries);
  BETZ_ASSIGN_OR_RETURN(auto step,
                        buildDecoder(context, description, {}, parts));
  parts.dropout = 0;
  BETZ_ASSIGN_OR_RETURN(auto forward,
                        buildDecoder(context, description, {}, parts));
  Network network{.name = "decoder on masked spikes",
                  .step = *step,
                  .forward = *forward,
                  .weights = {}};
  BETZ_ASSIGN_OR_RETURN(
      network.weights,
      startingWeights(*step, dataset, options.weights, options.seed));
  network.frozen = frozenWeights(network.weights, options.freezeTrunk());
  network.losses = {{"spike_logits", "query_value",
                     passes::TrainingLoss::Kind::CrossEntropy}};
  network.masking = masking;
  return trainNetwork(network, dataset, own, options, folder, interrupted);
}

} // namespace betz
