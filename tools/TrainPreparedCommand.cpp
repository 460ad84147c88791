#include "runtime/base/File.h"
#include "runtime/session/OpenDevice.h"
#include "tools/Interrupt.h"
#include "tools/RuntimeCommands.h"
#include "train/loop/DecoderFile.h"
#include "train/loop/NetworkDecoder.h"
#include "train/loop/PreparedRun.h"
#include "train/loop/RunFolder.h"
#include "train/report/Html.h"

#include <fmt/format.h>

namespace betz {
namespace {

namespace fs = std::filesystem;
using namespace train;

struct Options {
  fs::path prepared, output, json;
  std::vector<fs::path> recordings;
  std::string device = "cpu";
  int threads = 0;
  bool resume = false;
  /// Above 0: so many steps are timed, and nothing is trained.
  int64_t timeSteps = 0;
};

Status prepareFolder(const Options &options) {
  const bool isStarted =
      !listCheckpoints(options.output / "checkpoints").empty();
  BETZ_RETURN_IF_ERROR(
      checkRunFolder(options.output, isStarted, options.resume));
  return makeFolder(options.output);
}

void addOutcome(const Options &options, const PreparedRun &run,
                const TrainingOutcome &outcome, Json &report) {
  std::vector<std::string> files;
  for (const fs::path &file : options.recordings)
    files.push_back(file.string());
  report.update(toJson(outcome));
  report["seed"] = run.loop.batches.seed;
  report["device"] = options.device;
  report["recordings"] = std::move(files);
}

void print(const Evaluation &evaluation, const TrainingOutcome &outcome,
           const fs::path &folder) {
  fmt::print("{}\n{}weights: {}\nreport:  {}\n", toText(evaluation),
             toText(outcome), (folder / "decoder.safetensors").string(),
             (folder / "report.html").string());
}

struct Started {
  std::shared_ptr<NetworkDecoder> decoder;
  std::unique_ptr<Trainer> trainer;
};

Result<Started> start(const Options &options, const PreparedRun &run,
                      const Dataset &dataset) {
  BETZ_ASSIGN_OR_RETURN(
      std::shared_ptr<Device> device,
      openDevice(options.device, {.threads = options.threads}));
  TrainerOptions loop = run.loop;
  loop.interrupted = &interruptFlag();
  Started started;
  BETZ_ASSIGN_OR_RETURN(
      started.decoder,
      NetworkDecoder::create(run.forward, device, loop.batches.rows));
  BETZ_ASSIGN_OR_RETURN(started.trainer,
                        Trainer::create({run.step, nullptr}, std::move(device),
                                        started.decoder, dataset, loop,
                                        options.output));
  BETZ_RETURN_IF_ERROR(options.resume
                           ? started.trainer->resume({})
                           : started.trainer->start(run.weights, {}));
  return started;
}

Status timeSteps(const Options &options, const PreparedRun &run,
                 const Dataset &dataset) {
  BETZ_ASSIGN_OR_RETURN(Started started, start(options, run, dataset));
  BETZ_ASSIGN_OR_RETURN(double seconds,
                        started.trainer->timeStep(options.timeSteps));
  double events = 0;
  Batch batch;
  BETZ_ASSIGN_OR_RETURN(TrainBatches batches,
                        TrainBatches::make(dataset, run.loop.batches));
  for (int64_t i = 0; i < options.timeSteps; ++i) {
    batches.read(i, batch);
    events += double(batch.neuronId.size()) / double(batch.rows());
  }
  const Json report = {
      {"step_ms", seconds * 1e3},
      {"batch", run.loop.batches.rows},
      {"events_per_window", events / double(options.timeSteps)},
      {"device", options.device}};
  if (options.json != "-")
    fmt::print("a step of {} windows: {:.3f} ms, median of {}\n",
               run.loop.batches.rows, seconds * 1e3, options.timeSteps);
  return options.json.empty() ? Status::ok()
                              : writeJsonReport(report, options.json);
}

Status trainPrepared(const Options &options) {
  BETZ_ASSIGN_OR_RETURN(PreparedRun run, readPreparedRun(options.prepared));
  BETZ_RETURN_IF_ERROR(prepareFolder(options));
  BETZ_ASSIGN_OR_RETURN(Dataset dataset,
                        Dataset::open(options.recordings, run.data));
  BETZ_RETURN_IF_ERROR(checkFits(run, dataset));
  if (options.timeSteps > 0)
    return timeSteps(options, run, dataset);
  BETZ_ASSIGN_OR_RETURN(Baselines baselines, fitBaselines(dataset));
  BETZ_ASSIGN_OR_RETURN(ProtocolReport protocol,
                        describeProtocol(dataset, &baselines));
  fmt::print(options.json == "-" ? stderr : stdout, "{}", toText(protocol));
  stopAtFirstInterrupt();
  BETZ_ASSIGN_OR_RETURN(Started started, start(options, run, dataset));
  Trainer &trainer = *started.trainer;
  BETZ_ASSIGN_OR_RETURN(TrainingOutcome outcome, trainer.run());
  if (outcome.wasInterrupted) {
    fmt::print(stderr, "betz-rt: stopped; all that is done is saved: go on "
                       "with --resume\n");
    return Status::ok();
  }
  BETZ_RETURN_IF_ERROR(trainer.loadBest());
  BETZ_RETURN_IF_ERROR(writeDecoder(trainer.parameters(), trainer.weights(), {},
                                    dataset, run.metadata,
                                    options.output / "decoder.safetensors"));
  EvaluationOptions evaluationOptions;
  evaluationOptions.seed = run.loop.batches.seed;
  BETZ_ASSIGN_OR_RETURN(
      Evaluation evaluation,
      evaluate(dataset, baselines, std::move(protocol),
               {{"this decoder", started.decoder.get(), &dataset}},
               evaluationOptions));
  Json report = toJson(evaluation);
  addOutcome(options, run, outcome, report);
  const std::string training = fmt::format(
      "{} steps in {:.0f} s on {}; best on val: step {} (R² {:.3f})",
      outcome.steps, outcome.seconds, options.device, outcome.best.step,
      outcome.best.score);
  BETZ_RETURN_IF_ERROR(
      writeReport(evaluation,
                  {(options.output / "decoder.safetensors").string(),
                   {{"training", training}}},
                  report, options.output));
  if (!options.json.empty())
    BETZ_RETURN_IF_ERROR(writeJsonReport(report, options.json));
  if (options.json != "-")
    print(evaluation, outcome, options.output);
  return Status::ok();
}

} // namespace

void addTrainPreparedCommand(CommandLine &line) {
  auto options = std::make_shared<Options>();
  CLI::App *command = line.addCommand(
      "train",
      "Train a decoder by programs that betz train --compile-only made",
      [options] { return trainPrepared(*options); });
  command
      ->add_option("prepared", options->prepared,
                   "The folder of betz train --compile-only")
      ->required();
  command
      ->add_option("--nwb", options->recordings,
                   "The recordings that it was prepared for, in that order")
      ->required();
  command
      ->add_option("-o,--output", options->output,
                   "Folder for weights, report, log and checkpoints")
      ->required();
  command
      ->add_option("--device", options->device,
                   "cpu, cuda or cuda:N: what it was prepared for")
      ->capture_default_str();
  command->add_option("--threads", options->threads,
                      "Threads of the cpu device (default: one a core)");
  command->add_flag("--resume", options->resume,
                    "Go on from the folder's newest checkpoint");
  command
      ->add_option("--time-steps", options->timeSteps,
                   "Time so many steps, batches included, and train nothing")
      ->check(CLI::PositiveNumber);
  command->add_option("--json", options->json,
                      "Write the report to FILE too, or - for standard output");
  command->footer("\nExamples:\n"
                  "  betz train --nwb session.nwb --compile-only -o prepared\n"
                  "  betz-rt train prepared --nwb session.nwb -o run\n"
                  "  betz-rt train prepared --nwb session.nwb -o run --resume");
}

} // namespace betz
