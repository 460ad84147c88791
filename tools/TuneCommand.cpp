// `tune M.betz`: the tiles that are fastest on this GPU.
#include "runtime/base/File.h"
#include "runtime/session/OpenDevice.h"
#include "tools/RuntimeCommands.h"
#include "tools/TuneReport.h"

#include <algorithm>
#include <fmt/format.h>

namespace betz {
namespace {

struct TuneOptions {
  std::filesystem::path program, output;
  std::string device = "cuda";
  int64_t events = 512;
  std::string json;
};

Status checkTargets(const Program &program, const TuneOptions &options) {
  std::vector<std::string> names;
  for (const TargetVariant &target : program.targets)
    names.push_back(target.target);
  if (std::ranges::any_of(names, [](const std::string &name) {
        return name.starts_with("cuda:");
      }))
    return Status::ok();
  return invalidArgument(fmt::format(
      "{} has code for {} only, which has nothing to tune; compile it with "
      "--target cuda:sm_90a or cuda:sm_80",
      options.program.string(), fmt::join(names, ", ")));
}

Status runTune(const TuneOptions &options) {
  const std::optional<int> ordinal = cudaOrdinal(options.device);
  if (!ordinal)
    return invalidArgument(fmt::format(
        "--device {}: tune takes a GPU, cuda or cuda:N", options.device));
  // The program itself may be replaced.
  BETZ_RETURN_IF_ERROR(checkOutputs({options.output, options.json}, {}));
  BETZ_RETURN_IF_ERROR(checkOutputs({options.json}, {options.program}));
  BETZ_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program,
                        readProgram(options.program));
  BETZ_RETURN_IF_ERROR(checkTargets(*program, options));
  BETZ_ASSIGN_OR_RETURN(std::shared_ptr<Device> device,
                        openDevice(options.device, {}));
  BETZ_ASSIGN_OR_RETURN(std::unique_ptr<CudaBaseline> baseline,
                        openCudaBaseline(*ordinal));
  const TuningDevice machine = {std::move(device), baseline->driverVersion(),
                                baseline->cacheBytes(), baseline.get()};
  Result<TuningResult> tuned = tuneProgram(program, machine, options.events);
  if (!tuned.isOk())
    return std::move(tuned).status().withContext(options.program.string());
  BETZ_RETURN_IF_ERROR(writeProgram(*tuned->program, options.output));
  if (options.json != "-")
    printTuning(*program, tuned->report);
  return options.json.empty()
             ? Status::ok()
             : writeJsonReport(toJson(*program, tuned->report), options.json);
}

} // namespace

void addTuneCommand(CommandLine &line) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App *command = line.addCommand(
      "tune", "Pick the tiles of a program's kernels that are fastest on a GPU",
      [options] { return runTune(*options); });
  command->add_option("program", options->program, "The compiled program")
      ->required();
  command->add_option("--device", options->device, "cuda or cuda:N")
      ->capture_default_str();
  command
      ->add_option("-o,--output", options->output,
                   "Where the tuned program goes; may be the program itself")
      ->check(kFileName)
      ->required();
  command
      ->add_option("--events", options->events,
                   "Events of a window (at most what the program takes)")
      ->check(CLI::Range(int64_t(0), int64_t(1) << 20))
      ->capture_default_str();
  command->add_option("--json", options->json,
                      "Write the report to FILE, or - for standard output");
  command->footer(
      "Each kernel of each bucket runs with each tile on its own data, outside "
      "the L2 cache\nwhere a step does not fit it. Tiles change no bit of a "
      "result: the tuned program is\nthe same model. A tuned program starts "
      "from its tiles. Needs NVRTC (CUDA 12 or 13);\ncuBLASLt, where it is "
      "found, is timed for comparison. BETZ_LOG=info shows each tile\nas it is "
      "tried.\n\n"
      "Example:\n  tune m.betz --device cuda:0 -o m.betz --json tuning.json");
}

} // namespace betz
