//===- TrainingPrograms.h - Model + recipe -> compiled training -----------===//
#pragma once

#include "codegen/Compiler.h"
#include "frontend/Frontend.h"
#include "passes/TrainingStep.h"
#include "runtime/hal/Device.h"
#include "train/build/Recipe.h"
#include "train/data/Dataset.h"

namespace betz::train {

/// The decoder of a dataset: the recipe's sizes, and what the recordings give
/// (neurons, window, outputs, unit tables, target scale).
Result<ModelDescription> describeModel(const Recipe &recipe,
                                       const Dataset &dataset);

/// Of the targets that can be compiled for, the fastest on this device.
std::string bestTarget(const Device &device);

/// A step of training, or with no losses of decoding from flat weights.
/// `batch`: most rows; `maxEvents`: most events a row.
Result<std::shared_ptr<const Program>>
compileStep(mlir::ModuleOp model, const passes::TrainingOptions &options,
            const std::string &target, int64_t batch, int64_t maxEvents);

/// A recipe's precision and optimizer; without losses.
passes::TrainingOptions trainingOptions(const Recipe &recipe);

/// What a weights file says of its model, as compile reads it.
std::map<std::string, std::string>
weightsMetadata(const ModelDescription &model);

} // namespace betz::train
