// `bench M.betz`: how long a step takes, where in it, and how near that is to
// what the machine can do.
#include "runtime/base/File.h"
#include "runtime/hal/cpu/CpuDevice.h"
#include "runtime/session/OpenDevice.h"
#include "tools/BenchPictures.h"
#include "tools/BenchReport.h"
#include "tools/DeviceLimits.h"
#include "tools/OpenProgram.h"
#include "tools/RandomInputs.h"
#include "tools/RuntimeCommands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace betz {
namespace {

struct BenchOptions {
  ProgramRequest program;
  std::vector<int64_t> batches = {1};
  /// Of each window, or as many as the program takes.
  int64_t events = 512;
  /// Has the one step to time; empty for random ones of `batches`.
  std::string input;
  ProfileOptions profile;
  std::string json;
  std::string trace;
  std::string roofline;
};

/// What each picture shows at its top.
std::string describe(const BenchOptions &options, const Session &session,
                     const StepProfile &profile) {
  return fmt::format("{}, {} window{}, on {}, {} code",
                     options.program.program.filename().string(), profile.batch,
                     profile.batch == 1 ? "" : "s", session.device().name(),
                     session.isa());
}

/// A GPU's are measured for --roofline only: they take seconds.
Result<MachineLimits> limitsOf(const BenchOptions &options, Session &session) {
  if (options.program.device == "cpu") {
    const int threads = options.program.threads;
    return measureLimits(session.isa(), threads > 0 ? threads : usableCores());
  }
  const std::optional<int> ordinal = cudaOrdinal(options.program.device);
  if (!ordinal || options.roofline.empty())
    return MachineLimits();
  BETZ_ASSIGN_OR_RETURN(std::unique_ptr<CudaBaseline> baseline,
                        openCudaBaseline(*ordinal));
  return measureDeviceLimits(session, *baseline);
}

Status writePictures(const BenchOptions &options, const Session &session,
                     const StepProfile &profile, const MachineLimits &limits) {
  const std::string title = describe(options, session, profile);
  if (!options.trace.empty())
    BETZ_RETURN_IF_ERROR(
        writeFileAtomically(options.trace, traceJson(profile, title)));
  if (options.roofline.empty())
    return Status::ok();
  return writeFileAtomically(options.roofline,
                             rooflineSvg(profile, limits, title));
}

Status checkOptions(const BenchOptions &options) {
  if (options.profile.stepsOnly &&
      !(options.trace.empty() && options.roofline.empty()))
    return invalidArgument("--steps-only leaves nothing for --trace and "
                           "--roofline to show; leave it out");
  if (!options.roofline.empty() && options.program.device == "null")
    return invalidArgument("--roofline needs the limits of a device that runs "
                           "something: --device cpu or cuda");
  return Status::ok();
}

void printLimits(const BenchOptions &options, const Session &session,
                 const MachineLimits &limits) {
  fmt::print("{} on {}, {} code\n", options.program.program.string(),
             session.device().name(), session.isa());
  if (limits.flops > 0)
    fmt::print("measured limits: {:.1f} GFLOP/s {}, copy {:.1f} GB/s\n",
               limits.flops * 1e-9,
               limits.flopsBy.empty() ? "of multiply-adds"
                                      : "by " + limits.flopsBy,
               limits.copyBytes * 1e-9);
}

Result<std::vector<HostStep>> makeSteps(const BenchOptions &options,
                                        const Session &session) {
  std::vector<HostStep> steps;
  if (!options.input.empty()) {
    BETZ_ASSIGN_OR_RETURN(HostStep step,
                          readStep(session.program(), options.input));
    if (!session.fits(step.extents))
      return invalidArgument(
          fmt::format("{}: a step of {} fits no bucket of the program; the "
                      "largest takes {}",
                      options.input, fmt::join(step.extents, ", "),
                      fmt::join(session.target().plans.back().capacity, ", ")));
    steps.push_back(std::move(step));
    return steps;
  }
  for (int64_t batch : options.batches) {
    BETZ_ASSIGN_OR_RETURN(HostStep step,
                          makeProfileStep(session, batch, options.events));
    steps.push_back(std::move(step));
  }
  return steps;
}

Status bench(const BenchOptions &options) {
  BETZ_RETURN_IF_ERROR(checkOptions(options));
  BETZ_RETURN_IF_ERROR(
      checkOutputs({options.json, options.trace, options.roofline},
                   {options.program.program, options.input}));
  ProgramRequest request = options.program;
  // The CPU works on a step where it is submitted: two in flight gain nothing.
  request.stepsInFlight = request.device == "cpu" ? 1 : 2;
  BETZ_ASSIGN_OR_RETURN(OpenedProgram opened, openProgram(request));
  BETZ_RETURN_IF_ERROR(writeRandomStates(*opened.session));
  const std::unique_ptr<Session> session = std::move(opened.session);
  BETZ_ASSIGN_OR_RETURN(std::vector<HostStep> steps,
                        makeSteps(options, *session));
  BETZ_ASSIGN_OR_RETURN(const MachineLimits limits,
                        limitsOf(options, *session));
  if (!options.roofline.empty() && limits.copyBytes <= 0)
    return resourceExhausted("--roofline: no memory to measure a copy with");
  ProfileOptions profileOptions = options.profile;
  profileOptions.device = request.device;
  Json report = {{"program", options.program.program.string()},
                 {"device", session->device().name()},
                 {"isa", session->isa()},
                 {"limits", toJson(limits)},
                 {"steps", Json::array()}};
  const bool show = options.json != "-";
  if (show)
    printLimits(options, *session, limits);
  for (HostStep &step : steps) {
    BETZ_ASSIGN_OR_RETURN(StepProfile profile,
                          profileStep(*session, step, profileOptions));
    if (show)
      printProfile(session->program(), profile, limits);
    if (report["steps"].empty())
      BETZ_RETURN_IF_ERROR(writePictures(options, *session, profile, limits));
    report["steps"].push_back(toJson(profile, limits));
  }
  return options.json.empty() ? Status::ok()
                              : writeJsonReport(report, options.json);
}

void addReportOptions(CLI::App &command, BenchOptions &options) {
  command.add_flag("--steps-only", options.profile.stepsOnly,
                   "Measure whole steps only, no kernels");
  command.add_option("--json", options.json,
                     "Write the report to FILE, or - for standard output");
  command.add_option("--trace", options.trace,
                     "Write a step of the first batch as trace events to FILE, "
                     "for ui.perfetto.dev");
  command.add_option("--roofline", options.roofline,
                     "Draw the kernels of the first batch under the measured "
                     "limits to FILE, an SVG");
}

} // namespace

void addBenchCommand(CommandLine &line) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App *command = line.addCommand(
      "bench", "Time a step of a program, its kernels and its sections",
      [options] { return bench(*options); });
  addProgramOptions(*command, options->program);
  CLI::Option *batch =
      command
          ->add_option("--batch", options->batches,
                       "Windows of a step; several, with commas between, are "
                       "measured one after the other")
          ->delimiter(',')
          ->check(CLI::Range(int64_t(0), int64_t(1) << 20))
          ->capture_default_str();
  CLI::Option *events =
      command
          ->add_option("--events", options->events,
                       "Events of a window (at most what the program takes)")
          ->check(CLI::Range(int64_t(0), int64_t(1) << 20))
          ->capture_default_str();
  command
      ->add_option("--input", options->input,
                   "Time the step in this safetensors file, by the program's "
                   "input names, instead of random ones")
      ->excludes(batch)
      ->excludes(events);
  command
      ->add_option("--min-time", options->profile.minTime,
                   "Seconds to measure each batch for")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  addReportOptions(*command, *options);
  command->footer("Random inputs are always the same. A kernel's time is "
                  "that inside a step, and\nalone when it runs again and "
                  "again. On a GPU it is that in a graph of nothing else, by\n"
                  "the GPU's clock; the step's graph stands below the kernels, "
                  "and the gap between is\nnegative where they overlap. Steps "
                  "are measured there with two in flight as well:\nthe next "
                  "one's checks and copies under this one's kernels. Peak and "
                  "copy are\nfractions of the limits measured at the start (on "
                  "a GPU for --roofline only, by a\nlarge product and a copy)."
                  "\n\n"
                  "Example:\n  bench m.betz --batch 1,8 --threads 2 "
                  "--trace step.json");
}

} // namespace betz
