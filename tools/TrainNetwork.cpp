#include "tools/TrainNetwork.h"
#include "runtime/base/Progress.h"
#include "runtime/session/OpenDevice.h"
#include "train/build/TrainingPrograms.h"
#include "train/loop/PreparedRun.h"
#include "train/loop/SpikeScorer.h"

#include <algorithm>
#include <fmt/format.h>

namespace betz {
namespace {

using namespace train;

struct NetworkPrograms {
  StepPrograms training;
  std::shared_ptr<const Program> forward;
};

/// The names that are weights of `module`.
std::vector<std::string> weightsIn(mlir::ModuleOp module,
                                   const std::vector<std::string> &names) {
  std::vector<std::string> found;
  mlir::func::FuncOp prepare = ir::getPrepare(module);
  for (unsigned i = 0; i < prepare.getNumArguments(); ++i) {
    const std::string name = ir::getArgName(prepare, i, ir::kWeightAttr).str();
    if (std::ranges::find(names, name) != names.end())
      found.push_back(name);
  }
  return found;
}

Result<NetworkPrograms> compile(const Network &network, const Dataset &dataset,
                                const Recipe &recipe, const Device &device) {
  BusyLine busy("compiling the training step of " + network.name);
  auto compileOne = [&](mlir::ModuleOp module,
                        const passes::TrainingOptions &options) {
    return compileStep(module, options, bestTarget(device), recipe.batch,
                       mostEvents(dataset, recipe.augment));
  };
  passes::TrainingOptions options = trainingOptions(recipe);
  options.losses = network.losses;
  options.frozen = network.frozen;
  options.accumulate = recipe.accumulate > 1;
  NetworkPrograms programs;
  BETZ_ASSIGN_OR_RETURN(programs.training.step,
                        compileOne(network.step, options));
  if (options.accumulate) {
    options.gradientsOnly = true;
    BETZ_ASSIGN_OR_RETURN(programs.training.gradient,
                          compileOne(network.step, options));
  }
  options = trainingOptions(recipe);
  options.frozen = weightsIn(network.forward, network.frozen);
  BETZ_ASSIGN_OR_RETURN(programs.forward, compileOne(network.forward, options));
  return programs;
}

/// The trained, or the frozen, weights in their places.
std::vector<float> flatten(const reference::TensorMap &weights,
                           std::span<const Parameter> parameters, bool frozen) {
  std::vector<float> flat(size_t(flatSize(parameters, frozen)));
  for (const Parameter &parameter : parameters)
    if (parameter.frozen == frozen)
      std::ranges::copy(weights.at(parameter.name).real,
                        flat.begin() + parameter.offset);
  return flat;
}

TrainerOptions loopOptions(const Network &network, const Recipe &recipe,
                           const TrainOptions &options) {
  TrainerOptions loop;
  loop.schedule.steps = recipe.steps;
  loop.schedule.warmupSteps = recipe.warmupSteps;
  loop.schedule.learningRate = recipe.learningRate;
  loop.schedule.finalFraction = recipe.finalRate;
  loop.batches.rows = int32_t(recipe.batch);
  loop.batches.seed = options.seed;
  loop.batches.augmentation = recipe.augment;
  loop.batches.masking = network.masking;
  loop.accumulate = recipe.accumulate;
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
  BETZ_ASSIGN_OR_RETURN(NetworkPrograms programs,
                        compile(network, dataset, recipe, *device));
  TrainerOptions loop = loopOptions(network, recipe, options);
  loop.interrupted = &interrupted;
  TrainedNetwork trained;
  std::shared_ptr<Validation> validation;
  if (network.losses.front().output == "behavior") {
    BETZ_ASSIGN_OR_RETURN(
        trained.decoder,
        NetworkDecoder::create(programs.forward, device, loop.batches.rows));
    validation = trained.decoder;
  } else {
    BETZ_ASSIGN_OR_RETURN(validation,
                          SpikeScorer::create(programs.forward, device,
                                              loop.batches.rows,
                                              network.masking, options.seed));
  }
  BETZ_ASSIGN_OR_RETURN(trained.trainer,
                        Trainer::create(std::move(programs.training),
                                        std::move(device), validation, dataset,
                                        loop, folder));
  Trainer &trainer = *trained.trainer;
  for (const Parameter &parameter : trainer.parameters())
    trained.parameters += parameter.elements();
  auto starting = [&](bool frozen) {
    return flatten(network.weights.values, trainer.parameters(), frozen);
  };
  if (!listCheckpoints(folder / "checkpoints").empty()) {
    BETZ_RETURN_IF_ERROR(trainer.resume(starting(true)));
  } else {
    BETZ_RETURN_IF_ERROR(trainer.start(starting(false), starting(true)));
    if (options.minutes)
      BETZ_RETURN_IF_ERROR(
          limitSteps(trainer, network.name, recipe.steps, *options.minutes));
  }
  BETZ_ASSIGN_OR_RETURN(trained.outcome, trainer.run());
  if (!trained.outcome.wasInterrupted)
    BETZ_RETURN_IF_ERROR(trainer.loadBest());
  return trained;
}

Status prepareNetwork(const Network &network, const Dataset &dataset,
                      const Recipe &recipe, const TrainOptions &options,
                      std::map<std::string, std::string> metadata,
                      const std::filesystem::path &folder) {
  BETZ_ASSIGN_OR_RETURN(std::shared_ptr<Device> device,
                        openDevice(options.device, {}));
  BETZ_ASSIGN_OR_RETURN(NetworkPrograms programs,
                        compile(network, dataset, recipe, *device));
  PreparedRun run;
  run.step = std::move(programs.training.step);
  run.forward = std::move(programs.forward);
  BETZ_ASSIGN_OR_RETURN(std::vector<Parameter> parameters,
                        readParameters(*run.step));
  run.weights = flatten(network.weights.values, parameters, false);
  run.data = dataset.spec();
  run.loop = loopOptions(network, recipe, options);
  run.neurons = dataset.neurons();
  run.outputs = dataset.outputs();
  run.maxEvents = dataset.maxEvents();
  run.metadata = std::move(metadata);
  return writePreparedRun(run, folder);
}

} // namespace betz
