//===- Pretraining.h - Masked-spike training before behaviour's -----------===//
#pragma once

#include "frontend/Frontend.h"
#include "tools/TrainNetwork.h"

namespace betz {

/// What the decoder of a recipe has in training; `queries` as masking asks.
TrainingParts trainingParts(const train::Recipe &recipe,
                            const train::Dataset &dataset, int64_t queries);

/// Trains the decoder of `recipe` to guess masked spikes, in `folder`, from
/// options.weights. Its behaviour head stays as it was. No behaviour is read.
Result<TrainedNetwork>
trainOnSpikes(mlir::MLIRContext &context, const ModelDescription &description,
              const train::Dataset &dataset, const train::Recipe &recipe,
              const TrainOptions &options, const std::filesystem::path &folder,
              const std::atomic<bool> &interrupted);

} // namespace betz
