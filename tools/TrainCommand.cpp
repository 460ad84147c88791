#include "runtime/base/Log.h"
#include "runtime/base/Progress.h"
#include "runtime/session/OpenDevice.h"
#include "tools/CompilerCommands.h"
#include "tools/Model.h"
#include "tools/TrainOptions.h"
#include "train/build/TrainingPrograms.h"
#include "train/loop/Trainer.h"
#include "train/protocol/Report.h"
#include "train/score/Controls.h"

#include <csignal>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace betz {
namespace {

namespace fs = std::filesystem;
using namespace train;

/// Set by the first interrupt; a second one ends the process at once.
std::atomic<bool> interrupted = false;

void stopAtFirstInterrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = int(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

class TrainingRun {
public:
  explicit TrainingRun(const TrainOptions &options) : options(options) {}

  Status run() {
    BETZ_RETURN_IF_ERROR(prepare());
    BETZ_RETURN_IF_ERROR(build());
    BETZ_RETURN_IF_ERROR(train());
    return finish();
  }

private:
  Status prepare() {
    if (!options.recipe.empty()) {
      BETZ_ASSIGN_OR_RETURN(recipe, readRecipe(options.recipe));
    }
    if (options.steps)
      recipe.steps = *options.steps;
    recipe.data.seed = options.seed;
    const bool isStarted =
        !listCheckpoints(options.output / "checkpoints").empty();
    if (isStarted && !options.resume)
      return invalidArgument(
          fmt::format("{}: holds a run already; go on with it by --resume, or "
                      "name another folder",
                      options.output.string()));
    std::error_code error;
    fs::create_directories(options.output, error);
    if (error)
      return invalidArgument(fmt::format("{}: cannot make this folder: {}",
                                         options.output.string(),
                                         error.message()));
    BETZ_ASSIGN_OR_RETURN(Dataset opened,
                          Dataset::open(options.recordings, recipe.data));
    dataset.emplace(std::move(opened));
    if (dataset->outputs() == 0)
      return invalidArgument(
          "these recordings have no behaviour to train on; betz data inspect "
          "shows what they hold");
    BETZ_ASSIGN_OR_RETURN(protocol, describeProtocol(*dataset));
    fmt::print(options.json == "-" ? stderr : stdout, "{}", toText(protocol));
    return Status::ok();
  }

  std::string target() const {
    return options.device.starts_with("cuda") ? "cuda:sm_80" : "cpu";
  }

  Status build() {
    BETZ_ASSIGN_OR_RETURN(description, describeModel(recipe, *dataset));
    LoadedModel model;
    model.context = ir::makeContext();
    BETZ_ASSIGN_OR_RETURN(model.module, buildDecoder(*model.context, description,
                                                     {"behavior"}));
    ModelRequest request;
    request.weights = options.weights;
    request.seed = options.seed;
    BETZ_RETURN_IF_ERROR(loadWeights(request, model));
    BusyLine busy("compiling the training step");
    passes::TrainingOptions step = trainingOptions(recipe);
    BETZ_ASSIGN_OR_RETURN(programs.step,
                          compileStep(*model.module, step, target(),
                                      recipe.batch, dataset->maxEvents()));
    step.losses.clear();
    BETZ_ASSIGN_OR_RETURN(programs.forward,
                          compileStep(*model.module, step, target(),
                                      recipe.batch, dataset->maxEvents()));
    BETZ_ASSIGN_OR_RETURN(std::vector<Parameter> parameters,
                          readParameters(*programs.step));
    weights.resize(size_t(flatSize(parameters, false)));
    for (const Parameter &parameter : parameters) {
      const std::vector<double> &values = model.weights[parameter.name].real;
      std::ranges::copy(values, weights.begin() + parameter.offset);
      count += parameter.elements();
    }
    return Status::ok();
  }

  Status train() {
    BETZ_ASSIGN_OR_RETURN(
        std::shared_ptr<Device> device,
        openDevice(options.device, {.threads = options.threads}));
    TrainerOptions trainer;
    trainer.schedule = {.steps = recipe.steps,
                        .warmupSteps = recipe.warmupSteps,
                        .learningRate = recipe.learningRate,
                        .finalFraction = recipe.finalRate};
    trainer.batches = {.rows = int32_t(recipe.batch),
                       .seed = options.seed,
                       .augmentation = recipe.augment};
    trainer.beta1 = recipe.beta1;
    trainer.beta2 = recipe.beta2;
    trainer.scoreEvery = recipe.scoreEvery;
    trainer.keepBest = recipe.keepBest;
    trainer.patience = recipe.patience;
    trainer.shards = recipe.shards;
    trainer.interrupted = &interrupted;
    BETZ_ASSIGN_OR_RETURN(loop, Trainer::create(programs, device, *dataset,
                                                trainer, options.output));
    if (options.resume) {
      BETZ_RETURN_IF_ERROR(loop->resume({}));
    } else {
      BETZ_RETURN_IF_ERROR(loop->start(std::move(weights), {}));
      BETZ_RETURN_IF_ERROR(limitSteps());
    }
    stopAtFirstInterrupt();
    BETZ_ASSIGN_OR_RETURN(outcome, loop->run());
    return Status::ok();
  }

  /// --minutes, by the time of a few steps.
  Status limitSteps() {
    if (!options.minutes)
      return Status::ok();
    BETZ_ASSIGN_OR_RETURN(double seconds, loop->timeStep());
    // Scores on val take a share too.
    constexpr double kShareOfSteps = 0.85;
    const double fit = *options.minutes * 60 * kShareOfSteps / seconds;
    const int64_t steps =
        std::clamp<int64_t>(int64_t(fit), 1, recipe.steps);
    if (steps < recipe.steps)
      fmt::print(stderr, "betz: note: {} of the recipe's {} steps fit into {:g} "
                         "minutes\n",
                 steps, recipe.steps, *options.minutes);
    loop->setSteps(steps);
    return Status::ok();
  }

  Status finish() {
    if (outcome.wasInterrupted) {
      fmt::print(stderr,
                 "betz: stopped after step {}, which is saved; go on with "
                 "--resume\n",
                 outcome.steps);
      return Status::ok();
    }
    BETZ_RETURN_IF_ERROR(loop->loadBest());
    BETZ_ASSIGN_OR_RETURN(Table predictions,
                          loop->decoder().predict(*dataset, Split::Test));
    BETZ_RETURN_IF_ERROR(writeWeights(
        loop->parameters(), loop->weights(), loop->frozenWeights(),
        weightsMetadata(description), options.output / "decoder.safetensors"));
    const Json report = makeReport(predictions);
    BETZ_RETURN_IF_ERROR(
        writeJsonReport(report, options.output / "report.json"));
    if (!options.json.empty())
      BETZ_RETURN_IF_ERROR(writeJsonReport(report, options.json));
    if (options.json != "-")
      printReport(report);
    return Status::ok();
  }

  Json makeReport(const Table &predictions) const {
    const Table targets = behaviorOf(*dataset, Split::Test);
    const Score result = score(predictions, targets);
    const RowMask moving = movingRows(
        targets, restThreshold(behaviorOf(*dataset, Split::Train)));
    Json baselines = Json::object();
    for (const SessionReport &session : protocol.sessions)
      for (const BaselineScore &one : session.scores) {
        Json &entry = baselines[one.name];
        entry = entry.is_null()
                    ? Json(one.testR2 / double(protocol.sessions.size()))
                    : Json(entry.get<double>() +
                           one.testR2 / double(protocol.sessions.size()));
      }
    std::vector<std::string> files;
    for (const fs::path &file : options.recordings)
      files.push_back(file.string());
    return {{"test_r2", result.meanR2()},
            {"test_r2_by_output", result.r2},
            {"test_moving_r2", score(predictions, targets, moving).meanR2()},
            {"test_mse", result.meanMse()},
            {"test_correlation", result.meanCorrelation()},
            {"test_rotated_r2",
             score(rotatedControl(predictions, options.seed), targets).meanR2()},
            {"val_r2", outcome.best.valR2},
            {"best_step", outcome.best.step},
            {"baselines", std::move(baselines)},
            {"steps", outcome.steps},
            {"seconds", outcome.seconds},
            {"parameters", count},
            {"seed", options.seed},
            {"device", options.device},
            {"recordings", std::move(files)},
            {"protocol", toJson(protocol)}};
  }

  void printReport(const Json &report) const {
    fmt::print("\n{:<24} {:>8}\n", "test R²", "");
    fmt::print("{:<24} {:>8.4f}\n", "this decoder",
               report["test_r2"].get<double>());
    for (const auto &[name, r2] : report["baselines"].items())
      fmt::print("{:<24} {:>8.4f}\n", name, r2.get<double>());
    fmt::print("\nbest of {} steps on val: {} (R² {:.4f}); {:.0f} s\n"
               "weights: {}\nreport:  {}\n",
               outcome.steps, outcome.best.step, outcome.best.valR2,
               outcome.seconds, (options.output / "decoder.safetensors").string(),
               (options.output / "report.json").string());
  }

  const TrainOptions &options;
  Recipe recipe;
  std::optional<Dataset> dataset;
  ProtocolReport protocol;
  ModelDescription description;
  TrainingPrograms programs;
  std::vector<float> weights;
  int64_t count = 0; // of parameters
  std::unique_ptr<Trainer> loop;
  TrainingOutcome outcome;
};

Status run(const TrainOptions &options) {
  if (!options.input.empty() || !options.expected.empty()) {
    if (options.input.empty() || options.expected.empty() ||
        options.weights.empty())
      return invalidArgument(
          "--input, --expect and --weights go together: the steps of one batch "
          "against a file that knows their losses");
    return trainOnBatch(options);
  }
  if (options.recordings.empty() || options.output.empty())
    return invalidArgument("give recordings by --nwb and a folder by -o");
  return TrainingRun(options).run();
}

} // namespace

void addTrainCommand(CommandLine &line) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App *command =
      line.addCommand("train", "Train a decoder on recordings",
                      [options] { return run(*options); });
  command->add_option("recipe", options->recipe,
                      "A recipe (TOML, docs/training.md); left out, the one "
                      "for any recording");
  command->add_option("--nwb", options->recordings,
                      "Recordings; several are sessions of one decoder");
  command->add_option("-o,--output", options->output,
                      "Folder for weights, report, log and checkpoints");
  command->add_option("--weights", options->weights,
                      "Safetensors to start from; random weights without it");
  command->add_option("--seed", options->seed,
                      "Of random weights, batches and augmentation")
      ->capture_default_str();
  command->add_option("--steps", options->steps, "Instead of the recipe's")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--minutes", options->minutes,
                   "Fewer steps where the recipe's would take longer")
      ->check(CLI::PositiveNumber);
  command->add_option("--device", options->device, "cpu, cuda or cuda:N")
      ->capture_default_str();
  command->add_option("--threads", options->threads,
                      "Threads of the cpu device (default: one a core)");
  command->add_flag("--resume", options->resume,
                    "Go on from the folder's newest checkpoint");
  command->add_option("--json", options->json,
                      "Write the report to FILE too, or - for standard output");
  command->add_option("--input", options->input,
                      "Train on one batch of this file instead");
  command->add_option("--expect", options->expected,
                      "Losses, gradient norms and outputs of those steps; the "
                      "metadata says how they were made");
  command->add_option("--tol", options->tolerance,
                      "Allowed error, relative to the largest magnitude of "
                      "each expected tensor")
      ->capture_default_str();
  command->footer("\nExamples:\n"
                  "  train --nwb session.nwb -o run\n"
                  "  train recipe.toml --nwb a.nwb b.nwb -o run --device cuda "
                  "--seed 1\n"
                  "  train --nwb session.nwb -o run --resume");
}

} // namespace betz
