#include "frontend/Gru.h"
#include "tools/CompilerCommands.h"
#include "tools/TrainNetwork.h"
#include "train/build/TrainingPrograms.h"
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
  explicit TrainingRun(const TrainOptions &options)
      : options(options), context(ir::makeContext()) {}

  Status run() {
    BETZ_RETURN_IF_ERROR(prepare());
    stopAtFirstInterrupt();
    BETZ_RETURN_IF_ERROR(trainDecoder());
    if (!options.skipGru && !decoder.outcome.wasInterrupted)
      BETZ_RETURN_IF_ERROR(trainGru());
    if (interrupted) {
      fmt::print(stderr, "betz: stopped; all that is done is saved: go on with "
                         "--resume\n");
      return Status::ok();
    }
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
    BETZ_RETURN_IF_ERROR(prepareFolder());
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

  Status prepareFolder() {
    const bool isStarted =
        !listCheckpoints(options.output / "checkpoints").empty();
    if (isStarted && !options.resume)
      return invalidArgument(
          fmt::format("{}: holds a run already; go on with it by --resume, or "
                      "name another folder",
                      options.output.string()));
    if (!isStarted && options.resume)
      return notFound(fmt::format("{}: holds no checkpoint to go on from",
                                  options.output.string()));
    std::error_code error;
    fs::create_directories(options.output / "gru", error);
    return error ? invalidArgument(
                       fmt::format("{}: cannot make this folder: {}",
                                   options.output.string(), error.message()))
                 : Status::ok();
  }

  Status trainDecoder() {
    BETZ_ASSIGN_OR_RETURN(description, describeModel(recipe, *dataset));
    BETZ_ASSIGN_OR_RETURN(
        auto step,
        buildDecoder(*context, description, {"behavior"}, 0, recipe.dropout));
    BETZ_ASSIGN_OR_RETURN(auto forward,
                          buildDecoder(*context, description, {"behavior"}));
    BETZ_ASSIGN_OR_RETURN(decoder, trainNetwork({"decoder", *step, *forward},
                                                *dataset, recipe, options,
                                                options.output, interrupted));
    return Status::ok();
  }

  /// On the same samples; its counts are not cut to value buckets.
  Status trainGru() {
    DataSpec spec = dataset->spec();
    constexpr int32_t kAllCounts = 1 << 20;
    spec.valueBuckets = kAllCounts;
    BETZ_ASSIGN_OR_RETURN(Dataset opened,
                          Dataset::open(options.recordings, spec));
    gruDataset.emplace(std::move(opened));
    Recipe own;
    own.steps = options.steps.value_or(kGruSteps);
    own.batch = 256;
    own.learningRate = 2e-3;
    own.weightDecay = 0.01;
    own.finalRate = 0;
    own.augment = {};
    own.scoreEvery = 100;
    own.patience = 8;
    GruConfig config;
    config.units = gruDataset->neurons();
    config.bins = spec.historyBins;
    config.outputs = gruDataset->outputs();
    auto forward = buildGru(*context, config);
    config.inputDropout = 0.3;
    config.outputDropout = 0.2;
    auto step = buildGru(*context, config);
    TrainOptions withoutWeights = options;
    withoutWeights.weights.clear();
    BETZ_ASSIGN_OR_RETURN(
        gru, trainNetwork({"GRU", *step, *forward}, *gruDataset, own,
                          withoutWeights, options.output / "gru", interrupted));
    return Status::ok();
  }

  Status finish() {
    BETZ_ASSIGN_OR_RETURN(Table predictions, decoder.trainer->decoder().predict(
                                                 *dataset, Split::Test));
    BETZ_RETURN_IF_ERROR(writeWeights(
        decoder.trainer->parameters(), decoder.trainer->weights(),
        decoder.trainer->frozenWeights(), weightsMetadata(description),
        options.output / "decoder.safetensors"));
    Json report = makeReport(predictions);
    if (gru.trainer) {
      BETZ_ASSIGN_OR_RETURN(Table other, gru.trainer->decoder().predict(
                                             *gruDataset, Split::Test));
      report["baselines"]["GRU"] =
          score(other, behaviorOf(*dataset, Split::Test)).meanR2();
    }
    BETZ_RETURN_IF_ERROR(
        writeJsonReport(report, options.output / "report.json"));
    if (!options.json.empty())
      BETZ_RETURN_IF_ERROR(writeJsonReport(report, options.json));
    if (options.json != "-")
      printReport(report);
    return Status::ok();
  }

  /// The mean over sessions of each baseline's R².
  Json baselines() const {
    Json all = Json::object();
    const double share = 1 / double(protocol.sessions.size());
    for (const SessionReport &session : protocol.sessions)
      for (const BaselineScore &one : session.scores)
        all[one.name] = all.value(one.name, 0.0) + share * one.testR2;
    return all;
  }

  Json makeReport(const Table &predictions) const {
    const Table targets = behaviorOf(*dataset, Split::Test);
    const Score result = score(predictions, targets);
    const RowMask moving =
        movingRows(targets, restThreshold(behaviorOf(*dataset, Split::Train)));
    std::vector<std::string> files;
    for (const fs::path &file : options.recordings)
      files.push_back(file.string());
    return {
        {"test_r2", result.meanR2()},
        {"test_r2_by_output", result.r2},
        {"test_moving_r2", score(predictions, targets, moving).meanR2()},
        {"test_mse", result.meanMse()},
        {"test_correlation", result.meanCorrelation()},
        {"test_rotated_r2",
         score(rotatedControl(predictions, options.seed), targets).meanR2()},
        {"val_r2", decoder.outcome.best.valR2},
        {"best_step", decoder.outcome.best.step},
        {"baselines", baselines()},
        {"steps", decoder.outcome.steps},
        {"seconds", decoder.outcome.seconds},
        {"parameters", decoder.parameters},
        {"seed", options.seed},
        {"device", options.device},
        {"recordings", std::move(files)},
        {"protocol", toJson(protocol)}};
  }

  void printReport(const Json &report) const {
    fmt::print("\ntest R², mean over outputs\n{:<24} {:>8.4f}\n",
               "this decoder", report["test_r2"].get<double>());
    for (const auto &[name, r2] : report["baselines"].items())
      fmt::print("{:<24} {:>8.4f}\n", name, r2.get<double>());
    const TrainingOutcome &outcome = decoder.outcome;
    fmt::print("\nbest of {} steps on val: {} (R² {:.4f}); {:.0f} s\n"
               "weights: {}\nreport:  {}\n",
               outcome.steps, outcome.best.step, outcome.best.valR2,
               outcome.seconds,
               (options.output / "decoder.safetensors").string(),
               (options.output / "report.json").string());
  }

  static constexpr int64_t kGruSteps = 2000;

  const TrainOptions &options;
  std::unique_ptr<mlir::MLIRContext> context;
  Recipe recipe;
  std::optional<Dataset> dataset, gruDataset;
  ProtocolReport protocol;
  ModelDescription description;
  TrainedNetwork decoder, gru;
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
  CLI::App *command = line.addCommand("train", "Train a decoder on recordings",
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
  command
      ->add_option("--seed", options->seed,
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
  command->add_flag("--skip-gru", options->skipGru,
                    "Leave the recurrent baseline out of the report");
  command->add_flag("--resume", options->resume,
                    "Go on from the folder's newest checkpoint");
  command->add_option("--json", options->json,
                      "Write the report to FILE too, or - for standard output");
  command->add_option("--input", options->input,
                      "Train on one batch of this file instead");
  command->add_option("--expect", options->expected,
                      "Losses, gradient norms and outputs of those steps; the "
                      "metadata says how they were made");
  command
      ->add_option("--tol", options->tolerance,
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
