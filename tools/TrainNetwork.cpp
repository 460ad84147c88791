#include "tools/TrainNetwork.h"
#include "runtime/base/Progress.h"
#include "runtime/session/OpenDevice.h"
#include "tools/Model.h"
#include "train/build/TrainingPrograms.h"

#include <algorithm>
#include <fmt/format.h>

namespace betz {
namespace {

using namespace train;

Result<TrainingPrograms> compile(const Network &network, const Dataset &dataset,
                                 const Recipe &recipe, const Device &device) {
  BusyLine busy("compiling the training step of " + network.name);
  const std::string target = bestTarget(device);
  passes::TrainingOptions step = trainingOptions(recipe);
  TrainingPrograms programs;
  BETZ_ASSIGN_OR_RETURN(programs.step,
                        compileStep(network.step, step, target, recipe.batch,
                                    mostEvents(dataset, recipe.augment)));
  step.losses.clear();
  BETZ_ASSIGN_OR_RETURN(programs.forward,
                        compileStep(network.forward, step, target, recipe.batch,
                                    dataset.maxEvents()));
  return programs;
}

/// The weights file's, or random ones, in their places.
Result<std::vector<float>> firstWeights(const Network &network,
                                        std::span<const Parameter> parameters,
                                        const TrainOptions &options,
                                        const std::filesystem::path &file) {
  LoadedModel model;
  model.module = mlir::ModuleOp(network.step).clone();
  ModelRequest request;
  request.weights = file;
  request.seed = options.seed;
  BETZ_RETURN_IF_ERROR(loadWeights(request, model));
  std::vector<float> weights(size_t(flatSize(parameters, false)));
  for (const Parameter &parameter : parameters)
    std::ranges::copy(model.weights[parameter.name].real,
                      weights.begin() + parameter.offset);
  return weights;
}

TrainerOptions loopOptions(const Recipe &recipe, const TrainOptions &options) {
  TrainerOptions loop;
  loop.schedule.steps = recipe.steps;
  loop.schedule.warmupSteps = recipe.warmupSteps;
  loop.schedule.learningRate = recipe.learningRate;
  loop.schedule.finalFraction = recipe.finalRate;
  loop.batches.rows = int32_t(recipe.batch);
  loop.batches.seed = options.seed;
  loop.batches.augmentation = recipe.augment;
  loop.beta1 = recipe.beta1;
  loop.beta2 = recipe.beta2;
  loop.averageDecay = recipe.averageDecay;
  loop.scoreEvery = recipe.scoreEvery;
  loop.keepBest = recipe.keepBest;
  loop.patience = recipe.patience;
  loop.shards = recipe.shards;
  return loop;
}

/// --minutes, by the time of a few steps.
Status limitSteps(Trainer &trainer, const std::string &name, int64_t most,
                  double minutes) {
  BETZ_ASSIGN_OR_RETURN(double seconds, trainer.timeStep());
  // Scores on val take a share too.
  constexpr double kShareOfSteps = 0.85;
  const int64_t steps = std::clamp<int64_t>(
      int64_t(minutes * 60 * kShareOfSteps / seconds), 1, most);
  if (steps < most)
    fmt::print(stderr,
               "betz: note: {} of the {}'s {} steps fit into {:g} minutes\n",
               steps, name, most, minutes);
  trainer.setSteps(steps);
  return Status::ok();
}

} // namespace

Result<TrainedNetwork> trainNetwork(const Network &network,
                                    const Dataset &dataset,
                                    const Recipe &recipe,
                                    const TrainOptions &options,
                                    const std::filesystem::path &folder,
                                    const std::atomic<bool> &interrupted) {
  BETZ_ASSIGN_OR_RETURN(
      std::shared_ptr<Device> device,
      openDevice(options.device, {.threads = options.threads}));
  BETZ_ASSIGN_OR_RETURN(TrainingPrograms programs,
                        compile(network, dataset, recipe, *device));
  TrainerOptions loop = loopOptions(recipe, options);
  loop.interrupted = &interrupted;
  TrainedNetwork trained;
  BETZ_ASSIGN_OR_RETURN(trained.trainer,
                        Trainer::create(std::move(programs), std::move(device),
                                        dataset, loop, folder));
  Trainer &trainer = *trained.trainer;
  for (const Parameter &parameter : trainer.parameters())
    trained.parameters += parameter.elements();
  if (!listCheckpoints(folder / "checkpoints").empty()) {
    BETZ_RETURN_IF_ERROR(trainer.resume({}));
  } else {
    BETZ_ASSIGN_OR_RETURN(
        std::vector<float> weights,
        firstWeights(network, trainer.parameters(), options, options.weights));
    BETZ_RETURN_IF_ERROR(trainer.start(std::move(weights), {}));
    if (options.minutes)
      BETZ_RETURN_IF_ERROR(
          limitSteps(trainer, network.name, recipe.steps, *options.minutes));
  }
  BETZ_ASSIGN_OR_RETURN(trained.outcome, trainer.run());
  if (!trained.outcome.wasInterrupted)
    BETZ_RETURN_IF_ERROR(trainer.loadBest());
  return trained;
}

} // namespace betz
