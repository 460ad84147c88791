#include "frontend/Gru.h"
#include "runtime/base/File.h"
#include "tools/CompilerCommands.h"
#include "tools/Interrupt.h"
#include "tools/Pretraining.h"
#include "train/build/TrainingPrograms.h"
#include "train/loop/DecoderFile.h"
#include "train/loop/RunFolder.h"
#include "train/report/Html.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace betz {
namespace {

namespace fs = std::filesystem;
using namespace train;

class TrainingRun {
public:
  explicit TrainingRun(const TrainOptions &options)
      : options(options), context(ir::makeContext()) {}

  Status run() {
    BETZ_RETURN_IF_ERROR(prepare());
    if (options.compileOnly)
      return compileOnly();
    stopAtFirstInterrupt();
    if (recipe.pretrainSteps > 0)
      BETZ_RETURN_IF_ERROR(pretrain());
    if (hasBehavior() && !interrupted)
      BETZ_RETURN_IF_ERROR(trainDecoder());
    if (hasBehavior() && !options.skipGru && !interrupted)
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
    if (options.pretrainSteps)
      recipe.pretrainSteps = *options.pretrainSteps;
    if (options.freezeTrunk() && options.weights.empty())
      return invalidArgument("--freeze trunk keeps the weights of a trained "
                             "decoder: name its file by --weights");
    if (options.compileOnly)
      BETZ_RETURN_IF_ERROR(checkCompileOnly());
    recipe.data.seed = options.seed;
    recipe.data.labelFraction = options.labelFraction;
    recipe.data.labelledTrials = options.labelledTrials;
    BETZ_RETURN_IF_ERROR(prepareFolder());
    BETZ_ASSIGN_OR_RETURN(Dataset opened,
                          Dataset::open(options.recordings, recipe.data));
    dataset.emplace(std::move(opened));
    if (!hasBehavior() && recipe.pretrainSteps == 0)
      return invalidArgument(
          "these recordings have no behaviour to train on (betz data inspect "
          "shows what they hold); --pretrain-steps N trains on spikes alone");
    if (hasBehavior()) {
      BETZ_ASSIGN_OR_RETURN(Baselines fitted, fitBaselines(*dataset));
      baselines.emplace(std::move(fitted));
    }
    BETZ_ASSIGN_OR_RETURN(
        protocol,
        describeProtocol(*dataset, baselines ? &*baselines : nullptr));
    fmt::print(options.json == "-" ? stderr : stdout, "{}", toText(protocol));
    return Status::ok();
  }

  Status prepareFolder() {
    const bool isStarted =
        !listCheckpoints(options.output / "checkpoints").empty() ||
        !listCheckpoints(options.output / "pretrain" / "checkpoints").empty();
    BETZ_RETURN_IF_ERROR(
        checkRunFolder(options.output, isStarted, options.resume));
    if (recipe.pretrainSteps > 0)
      BETZ_RETURN_IF_ERROR(makeFolder(options.output / "pretrain"));
    return makeFolder(options.compileOnly ? options.output
                                          : options.output / "gru");
  }

  bool hasBehavior() const { return dataset->outputs() > 0; }
  fs::path pretrainedFile() const {
    return options.output / "pretrained.safetensors";
  }

  /// On all spikes of train, labelled or not. Once it is done, its weights'
  /// file says so.
  Status pretrain() {
    const fs::path reportFile = options.output / "pretrain" / "report.json";
    if (fs::exists(pretrainedFile())) {
      BETZ_ASSIGN_OR_RETURN(std::string text, readTextFile(reportFile));
      BETZ_ASSIGN_OR_RETURN(pretrained, parseJson(text));
      return Status::ok();
    }
    DataSpec spec = dataset->spec();
    std::optional<Dataset> unlimited;
    if (spec.labelFraction || spec.labelledTrials) {
      spec.labelFraction.reset();
      spec.labelledTrials.reset();
      BETZ_ASSIGN_OR_RETURN(unlimited, Dataset::open(options.recordings, spec));
    }
    const Dataset &all = unlimited ? *unlimited : *dataset;
    BETZ_ASSIGN_OR_RETURN(ModelDescription model, describeModel(recipe, all));
    BETZ_ASSIGN_OR_RETURN(TrainedNetwork trained,
                          trainOnSpikes(*context, model, all, recipe, options,
                                        options.output / "pretrain",
                                        interrupted));
    if (trained.outcome.wasInterrupted)
      return Status::ok();
    pretrained = {{"steps", trained.outcome.steps},
                  {"best_step", trained.outcome.best.step},
                  {"val_log_likelihood", trained.outcome.best.score},
                  {"seconds", trained.outcome.seconds},
                  {"mask", recipe.mask}};
    BETZ_RETURN_IF_ERROR(writeJsonReport(pretrained, reportFile));
    return writeDecoder(trained.trainer->parameters(),
                        trained.trainer->weights(),
                        trained.trainer->frozenWeights(), all,
                        weightsMetadata(model), pretrainedFile());
  }

  /// The decoder as it is trained on behaviour, from its starting weights.
  Result<Network> makeDecoder() {
    BETZ_ASSIGN_OR_RETURN(description, describeModel(recipe, *dataset));
    Masking masking;
    if (recipe.beside > 0)
      masking = {recipe.mask, maskQueries(*dataset, recipe.mask)};
    TrainingParts parts = trainingParts(recipe, *dataset, masking.queries);
    BETZ_ASSIGN_OR_RETURN(
        step, buildDecoder(*context, description, {"behavior"}, parts));
    parts.spikeQueries = 0;
    parts.dropout = 0;
    BETZ_ASSIGN_OR_RETURN(
        forward, buildDecoder(*context, description, {"behavior"}, parts));
    Network network{.name = "decoder",
                    .step = *step,
                    .forward = *forward,
                    .weights = {},
                    .masking = masking};
    BETZ_ASSIGN_OR_RETURN(network.weights,
                          startingWeights(*step, *dataset,
                                          recipe.pretrainSteps > 0
                                              ? pretrainedFile()
                                              : options.weights,
                                          options.seed));
    if (options.freezeTrunk())
      network.frozen = network.weights.trunk;
    if (recipe.beside > 0)
      network.losses.push_back({"spike_logits", "query_value",
                                passes::TrainingLoss::Kind::CrossEntropy,
                                recipe.beside});
    return network;
  }

  Status trainDecoder() {
    BETZ_ASSIGN_OR_RETURN(Network network, makeDecoder());
    BETZ_ASSIGN_OR_RETURN(decoder,
                          trainNetwork(network, *dataset, recipe, options,
                                       options.output, interrupted));
    return Status::ok();
  }

  /// What a prepared run does not hold.
  Status checkCompileOnly() const {
    if (recipe.pretrainSteps == 0 && recipe.beside == 0 &&
        recipe.accumulate == 1 && !options.freezeTrunk() &&
        !options.labelFraction && !options.labelledTrials)
      return Status::ok();
    return invalidArgument(
        "--compile-only prepares training on all behaviour: leave out masked "
        "spikes, accumulate, --freeze and --label-fraction or "
        "--labelled-trials");
  }

  Status compileOnly() {
    BETZ_ASSIGN_OR_RETURN(Network network, makeDecoder());
    BETZ_RETURN_IF_ERROR(prepareNetwork(network, *dataset, recipe, options,
                                        weightsMetadata(description),
                                        options.output));
    fmt::print(options.json == "-" ? stderr : stdout,
               "prepared {}: betz-rt train {} trains it\n",
               options.output.string(), options.output.string());
    return Status::ok();
  }

  /// On the same samples; its counts are not cut to value buckets.
  Status trainGru() {
    DataSpec spec = dataset->spec();
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
    Network network{
        .name = "GRU", .step = *step, .forward = *forward, .weights = {}};
    BETZ_ASSIGN_OR_RETURN(
        network.weights, startingWeights(*step, *gruDataset, {}, options.seed));
    BETZ_ASSIGN_OR_RETURN(gru,
                          trainNetwork(network, *gruDataset, own, options,
                                       options.output / "gru", interrupted));
    return Status::ok();
  }

  Status finish() {
    Json report = baseReport();
    std::optional<Evaluation> evaluation;
    if (hasBehavior()) {
      BETZ_RETURN_IF_ERROR(writeNetworks());
      BETZ_ASSIGN_OR_RETURN(evaluation, evaluateNetworks());
      addScores(*evaluation, report);
      BETZ_RETURN_IF_ERROR(
          writeReport(*evaluation, facts(), report, options.output));
    } else {
      BETZ_RETURN_IF_ERROR(
          writeJsonReport(report, options.output / "report.json"));
    }
    if (!options.json.empty())
      BETZ_RETURN_IF_ERROR(writeJsonReport(report, options.json));
    if (options.json != "-")
      printReport(evaluation ? &*evaluation : nullptr);
    return Status::ok();
  }

  Status writeNetworks() const {
    BETZ_RETURN_IF_ERROR(writeDecoder(
        decoder.trainer->parameters(), decoder.trainer->weights(),
        decoder.trainer->frozenWeights(), *dataset,
        weightsMetadata(description), options.output / "decoder.safetensors"));
    if (!gru.trainer)
      return Status::ok();
    return writeWeights(gru.trainer->parameters(), gru.trainer->weights(), {},
                        {}, options.output / "gru" / "gru.safetensors");
  }

  Result<Evaluation> evaluateNetworks() const {
    std::vector<Contestant> contestants = {
        {"this decoder", decoder.decoder.get(), &*dataset}};
    if (gru.trainer)
      contestants.push_back({"GRU", gru.decoder.get(), &*gruDataset});
    EvaluationOptions evaluationOptions;
    evaluationOptions.seed = options.seed;
    return evaluate(*dataset, *baselines, protocol, contestants,
                    evaluationOptions);
  }

  /// What there is without behaviour too.
  Json baseReport() const {
    std::vector<std::string> files;
    for (const fs::path &file : options.recordings)
      files.push_back(file.string());
    Json report = {{"seed", options.seed},
                   {"device", options.device},
                   {"recordings", std::move(files)},
                   {"protocol", toJson(protocol)}};
    if (!options.weights.empty())
      report["weights"] = options.weights.string();
    if (!options.freeze.empty())
      report["frozen"] = options.freeze;
    if (!pretrained.is_null())
      report["pretrain"] = pretrained;
    return report;
  }

  void addScores(const Evaluation &evaluation, Json &report) const {
    report.update(toJson(evaluation));
    report.update(toJson(decoder.outcome));
    report["parameters"] = decoder.parameters;
  }

  ReportFacts facts() const {
    const TrainingOutcome &outcome = decoder.outcome;
    return {(options.output / "decoder.safetensors").string(),
            {{"parameters", fmt::to_string(decoder.parameters)},
             {"training", fmt::format("{} steps in {:.0f} s on {}, seed {}; "
                                      "best on val: step {} (R² {:.3f})",
                                      outcome.steps, outcome.seconds,
                                      options.device, options.seed,
                                      outcome.best.step, outcome.best.score)}}};
  }

  void printReport(const Evaluation *evaluation) const {
    if (!pretrained.is_null())
      fmt::print("\nmasked spikes: {:.4f} nats a place on val, at best of {} "
                 "steps\nweights: {}\n",
                 pretrained["val_log_likelihood"].get<double>(),
                 pretrained["steps"].get<int64_t>(), pretrainedFile().string());
    if (evaluation)
      printScores(*evaluation);
    fmt::print("report:  {}\n",
               (options.output / (evaluation ? "report.html" : "report.json"))
                   .string());
  }

  void printScores(const Evaluation &evaluation) const {
    fmt::print("{}\n{}weights: {}\n", toText(evaluation),
               toText(decoder.outcome),
               (options.output / "decoder.safetensors").string());
  }

  static constexpr int64_t kGruSteps = 2000;

  const TrainOptions &options;
  const std::atomic<bool> &interrupted = interruptFlag();
  std::unique_ptr<mlir::MLIRContext> context;
  Recipe recipe;
  std::optional<Dataset> dataset, gruDataset;
  std::optional<Baselines> baselines;
  ProtocolReport protocol;
  ModelDescription description;
  mlir::OwningOpRef<mlir::ModuleOp> step, forward;
  TrainedNetwork decoder, gru;
  /// What is known of the masked-spike training; null without one.
  Json pretrained;
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
  command->add_flag("--compile-only", options->compileOnly,
                    "Write into the folder what betz-rt train needs to train "
                    "the decoder on this machine, and stop");
  command->add_option("--weights", options->weights,
                      "Safetensors to start from; random weights without it. "
                      "Units of sessions that they know keep their rows");
  command
      ->add_option("--freeze", options->freeze,
                   "trunk: of --weights, train only the embeddings of units "
                   "and sessions")
      ->check(CLI::IsMember({"trunk"}));
  CLI::Option *fraction =
      command
          ->add_option("--label-fraction", options->labelFraction,
                       "Share of the train trials of each recording whose "
                       "behaviour is used; drawn by --seed")
          ->check(CLI::Range(0.0, 1.0));
  command
      ->add_option("--labelled-trials", options->labelledTrials,
                   "The same as a number")
      ->check(CLI::PositiveNumber)
      ->excludes(fraction);
  command
      ->add_option("--seed", options->seed,
                   "Of random weights, batches and augmentation")
      ->capture_default_str();
  command->add_option("--steps", options->steps, "Instead of the recipe's")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--pretrain-steps", options->pretrainSteps,
                   "Masked-spike steps before those on behaviour, instead of "
                   "the recipe's")
      ->check(CLI::NonNegativeNumber);
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
                  "  train --nwb session.nwb -o run --resume\n"
                  "  train --nwb session.nwb -o few --pretrain-steps 2000 "
                  "--label-fraction 0.1\n"
                  "  train --nwb new.nwb -o new --weights "
                  "run/decoder.safetensors --freeze trunk");
}

} // namespace betz
