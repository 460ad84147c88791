// `eval M.betz|DIR --nwb F`: how good a trained decoder is, and how far that
// can be trusted.
#include "runtime/base/File.h"
#include "runtime/session/OpenDevice.h"
#include "tools/EvalFolder.h"
#include "tools/OpenProgram.h"
#include "tools/ProgramDecoder.h"
#include "tools/RuntimeCommands.h"
#include "train/loop/NetworkDecoder.h"
#include "train/report/Html.h"

#include <fmt/format.h>

namespace betz {
namespace {

namespace fs = std::filesystem;
using namespace train;

struct EvalOptions {
  /// A program, or a folder.
  ProgramRequest program;
  std::vector<fs::path> recordings;
  std::string split = "test";
  std::optional<uint64_t> seed;
  std::optional<int32_t> strideBins;
  std::string series;
  int64_t unitDraws = 3;
  std::string nlb;
  fs::path output;
  fs::path json;
};

/// A recurrent baseline with samples of its own.
struct Gru {
  std::optional<Dataset> dataset;
  std::shared_ptr<NetworkDecoder> decoder;
};

class EvalRun {
public:
  EvalRun(const EvalOptions &options, const EvalFolder *folder)
      : options(options), folder(folder) {}

  Status run() {
    BETZ_RETURN_IF_ERROR(
        checkOutputs({options.json}, {options.program.program}));
    std::error_code error;
    isFolder = fs::is_directory(options.program.program, error);
    recordings = options.recordings;
    if (isFolder)
      BETZ_RETURN_IF_ERROR(readFolder());
    if (recordings.empty())
      return invalidArgument("give the recording by --nwb");
    BETZ_RETURN_IF_ERROR(openDecoder());
    if (gruProgram)
      BETZ_RETURN_IF_ERROR(openGru());
    return report();
  }

private:
  /// Recordings and seed of the training run, where none are given.
  Status readFolder() {
    const fs::path &path = options.program.program;
    if (!folder)
      return invalidArgument(fmt::format(
          "{0}: a folder must be compiled first: betz compile --weights "
          "{0}/decoder.safetensors -o m.betz",
          path.string()));
    BETZ_ASSIGN_OR_RETURN(std::string text, readTextFile(path / "report.json"));
    BETZ_ASSIGN_OR_RETURN(Json trained, parseJson(text));
    BETZ_ASSIGN_OR_RETURN(seed, getMember<int64_t>(trained, "seed"));
    BETZ_ASSIGN_OR_RETURN(const Json *files, getArray(trained, "recordings"));
    for (const Json &file : *files)
      if (options.recordings.empty() && file.is_string())
        recordings.emplace_back(file.get<std::string>());
    return Status::ok();
  }

  Result<std::unique_ptr<betz::Session>> openSession() {
    if (!isFolder) {
      BETZ_ASSIGN_OR_RETURN(OpenedProgram opened, openProgram(options.program));
      return std::move(opened.session);
    }
    BETZ_ASSIGN_OR_RETURN(device,
                          openDevice(options.program.device,
                                     {.threads = options.program.threads}));
    BETZ_ASSIGN_OR_RETURN(
        std::shared_ptr<const Program> program,
        folder->compileDecoder(options.program.program, *device));
    return betz::Session::create(std::move(program), device);
  }

  Status openDecoder() {
    BETZ_ASSIGN_OR_RETURN(std::unique_ptr<betz::Session> session,
                          openSession());
    BETZ_ASSIGN_OR_RETURN(DataSpec spec, readDataSpec(session->program()));
    spec.seed = options.seed.value_or(uint64_t(seed));
    spec.series = options.series;
    if (options.strideBins)
      spec.strideBins = *options.strideBins;
    deviceName = session->device().name();
    BETZ_ASSIGN_OR_RETURN(Dataset opened, Dataset::open(recordings, spec));
    dataset.emplace(std::move(opened));
    if (dataset->outputs() == 0)
      return invalidArgument(
          "these recordings have no behaviour to score against; betz data "
          "inspect shows what they hold");
    BETZ_ASSIGN_OR_RETURN(ProgramDecoder made,
                          ProgramDecoder::create(std::move(session), *dataset));
    decoder.emplace(std::move(made));
    if (isFolder) {
      BETZ_ASSIGN_OR_RETURN(
          gruProgram,
          folder->compileGru(options.program.program, *device, *dataset));
    }
    return Status::ok();
  }

  /// Its counts are not cut to value buckets.
  Status openGru() {
    DataSpec spec = dataset->spec();
    spec.valueBuckets = kAllCounts;
    BETZ_ASSIGN_OR_RETURN(Dataset opened, Dataset::open(recordings, spec));
    gru.dataset.emplace(std::move(opened));
    BETZ_ASSIGN_OR_RETURN(
        gru.decoder,
        NetworkDecoder::create(gruProgram, device, EvalFolder::kGruRows));
    return Status::ok();
  }

  EvaluationOptions evaluationOptions() const {
    EvaluationOptions evaluation;
    for (Split split : kSplits)
      if (options.split == toString(split))
        evaluation.split = split;
    evaluation.seed = dataset->spec().seed;
    evaluation.unitDraws = options.unitDraws;
    evaluation.nlb = options.nlb;
    return evaluation;
  }

  Status report() {
    BETZ_ASSIGN_OR_RETURN(Baselines baselines, fitBaselines(*dataset));
    BETZ_ASSIGN_OR_RETURN(ProtocolReport protocol,
                          describeProtocol(*dataset, &baselines));
    for (const std::string &line : decoder->warnings())
      protocol.warnings.push_back(line);
    std::vector<Contestant> contestants = {
        {"this decoder", &*decoder, &*dataset}};
    if (gru.decoder)
      contestants.push_back({"GRU", gru.decoder.get(), &*gru.dataset});
    BETZ_ASSIGN_OR_RETURN(Evaluation evaluation,
                          evaluate(*dataset, baselines, std::move(protocol),
                                   contestants, evaluationOptions()));
    Json json = toJson(evaluation);
    json["decoder"] = options.program.program.string();
    json["device"] = deviceName;
    for (const fs::path &file : recordings)
      json["recordings"].push_back(file.string());
    return write(evaluation, json);
  }

  Status write(const Evaluation &evaluation, const Json &json) const {
    if (!options.output.empty()) {
      BETZ_RETURN_IF_ERROR(makeFolder(options.output));
      const ReportFacts facts = {options.program.program.string(),
                                 {{"device", deviceName}}};
      BETZ_RETURN_IF_ERROR(
          writeReport(evaluation, facts, json, options.output));
    }
    if (!options.json.empty())
      BETZ_RETURN_IF_ERROR(writeJsonReport(json, options.json));
    if (options.json != "-") {
      fmt::print("{}", toText(evaluation));
      if (!options.output.empty())
        fmt::print("\nreport: {}\n", (options.output / "report.html").string());
    }
    return Status::ok();
  }

  const EvalOptions &options;
  const EvalFolder *folder;
  bool isFolder = false;
  int64_t seed = 0;
  std::vector<fs::path> recordings;
  std::string deviceName;
  /// Of a folder's programs.
  std::shared_ptr<Device> device;
  std::optional<Dataset> dataset;
  std::optional<ProgramDecoder> decoder;
  std::shared_ptr<const Program> gruProgram;
  Gru gru;
};

} // namespace

void addEvalCommand(CommandLine &line, const EvalFolder *folder) {
  auto options = std::make_shared<EvalOptions>();
  CLI::App *command = line.addCommand(
      "eval",
      "Score a decoder on recordings, beside baselines and controls that say "
      "what the score is worth",
      [options, folder] { return EvalRun(*options, folder).run(); });
  command
      ->add_option("program", options->program.program,
                   folder ? "A compiled program, or a folder of betz train"
                          : "A compiled program")
      ->required();
  command->add_option("--nwb", options->recordings,
                      folder ? "Recordings; of a folder, else those that it "
                               "was trained on"
                             : "Recordings");
  command
      ->add_option("--split", options->split,
                   "Which samples are scored; baselines are fitted on train")
      ->check(CLI::IsMember({"train", "val", "test"}))
      ->capture_default_str();
  command->add_option("--seed", options->seed,
                      "Draws splits that the file does not give, and "
                      "resamples: that of the training run (default 0, or "
                      "the folder's)");
  command
      ->add_option("--stride-bins", options->strideBins,
                   "From one window to the next; else the program's")
      ->check(CLI::PositiveNumber);
  command->add_option("--series", options->series,
                      "The behaviour to score against; else hand_vel, "
                      "finger_vel, cursor_vel, or the only one of two columns");
  command
      ->add_option("--unit-draws", options->unitDraws,
                   "Draws for each number of units that stay; 0 leaves R² by "
                   "units out")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command->add_option("--nlb", options->nlb,
                      "Velocity window of NLB'21: mc_maze, mc_maze_large, "
                      "mc_maze_medium, mc_maze_small, mc_rtt or area2_bump; "
                      "else mc_maze where trials have an onset, or mc_rtt");
  command
      ->add_option("--device", options->program.device, "cpu, cuda or cuda:N")
      ->capture_default_str();
  command->add_option("--threads", options->program.threads,
                      "Threads of the cpu device (default: one a core)");
  command->add_option("-o,--output", options->output,
                      "Folder for report.html and report.json");
  command->add_option("--json", options->json,
                      "Write the report to FILE too, or - for standard output");
  command->footer(
      "Windows, splits and targets are those of training (docs/training.md). "
      "Read the score\nbeside ridge: a decoder must beat it. Then look at the "
      "controls: spikes rotated must\nscore about zero or below, and what "
      "clock only scores is known without any spike.\n\nExamples:\n" +
      std::string(folder ? "  eval run -o report\n" : "") +
      "  eval m.betz --nwb session.nwb -o report\n"
      "  eval m.betz --nwb session.nwb --split val --json -");
}

} // namespace betz
