// `bench M.betz`: how long a step takes, and each kernel in it.
#include "codegen/common/KernelSpec.h"
#include "runtime/base/File.h"
#include "runtime/base/Json.h"
#include "runtime/base/Progress.h"
#include "tools/OpenProgram.h"
#include "tools/RandomInputs.h"
#include "tools/RuntimeCommands.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace betz {
namespace {

constexpr uint32_t kSeed = 1;
constexpr int kWarmups = 3;
/// Enough for a p99 to mean something.
constexpr size_t kLeastSteps = 100;
constexpr size_t kKernelSamples = 15;

struct BenchOptions {
  ProgramRequest program;
  std::vector<int64_t> batches = {1};
  int64_t events = 512;
  double minTime = 1;
  std::string json;
};

/// All launches of one kernel in a step.
struct KernelTime {
  std::string name;
  std::string section;
  int64_t calls = 0;
  double seconds = 0;
  /// Nothing where the kernel's spec does not say.
  std::optional<KernelWork> work;
};

struct StepTime {
  int64_t batch = 0;
  std::vector<int64_t> extents;
  size_t steps = 0;
  double median = 0, p99 = 0;
  double flops = 0;
  std::vector<KernelTime> kernels;
};

/// Seconds of each call until `minTime` has passed, sorted.
Result<std::vector<double>> sampleSteps(Session &session, RandomStep &step,
                                        double minTime) {
  std::vector<InputBinding> inputs = step.bindInputs();
  std::vector<OutputBinding> outputs = step.bindOutputs();
  for (int i = 0; i < kWarmups; ++i)
    BETZ_RETURN_IF_ERROR(session.run(inputs, outputs));
  std::vector<double> samples;
  Progress progress("measuring steps", 0, "steps");
  for (Clock::time_point begin = Clock::now();
       samples.size() < kLeastSteps || secondsSince(begin) < minTime;) {
    Clock::time_point start = Clock::now();
    BETZ_RETURN_IF_ERROR(session.run(inputs, outputs));
    samples.push_back(secondsSince(start));
    progress.update(int64_t(samples.size()));
  }
  std::ranges::sort(samples);
  return samples;
}

std::optional<KernelWork> workOf(const KernelSpecEntry &kernel,
                                 std::span<const int64_t> extents) {
  Result<Json> json = parseJson(kernel.spec);
  if (!json.isOk())
    return std::nullopt;
  Result<KernelSpec> spec = kernelSpecFromJson(*json);
  if (!spec.isOk())
    return std::nullopt;
  return estimateWork(*spec, extents);
}

/// Times the launches of the step that ran last, each alone.
Result<std::vector<KernelTime>> sampleKernels(Session &session) {
  const std::vector<KernelSpecEntry> &specs = session.target().kernels;
  std::vector<KernelTime> kernels(specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    kernels[i].name = specs[i].name;
    kernels[i].section = specs[i].section;
    kernels[i].work = workOf(specs[i], session.lastExtents());
  }
  const std::vector<Launch> &launches = session.lastPlan().launches;
  for (size_t i = 0; i < launches.size(); ++i) {
    std::vector<double> samples;
    for (size_t sample = 0; sample < kKernelSamples; ++sample) {
      Clock::time_point start = Clock::now();
      BETZ_RETURN_IF_ERROR(session.runLaunch(i));
      samples.push_back(secondsSince(start));
    }
    std::ranges::sort(samples);
    KernelTime &kernel = kernels[launches[i].kernel];
    ++kernel.calls;
    kernel.seconds += quantile(samples, 0.5);
  }
  std::erase_if(kernels, [](const KernelTime &k) { return k.calls == 0; });
  return kernels;
}

Result<StepTime> measure(Session &session, const BenchOptions &options,
                         int64_t batch) {
  std::vector<int64_t> extents =
      chooseExtents(session.program(), session.target(), batch, options.events);
  if (!session.fits(extents))
    return invalidArgument(fmt::format(
        "--batch {} with {} events a window fits no bucket of the program; the "
        "largest takes {}",
        batch, options.events,
        fmt::join(session.target().plans.back().capacity, ", ")));
  RandomStep step =
      makeRandomStep(session.program(), std::move(extents), kSeed);
  BETZ_ASSIGN_OR_RETURN(std::vector<double> samples,
                        sampleSteps(session, step, options.minTime));
  StepTime time;
  time.batch = batch;
  time.extents = step.extents;
  time.steps = samples.size();
  time.median = quantile(samples, 0.5);
  time.p99 = quantile(samples, 0.99);
  BETZ_ASSIGN_OR_RETURN(time.kernels, sampleKernels(session));
  for (const KernelTime &kernel : time.kernels)
    if (kernel.work)
      time.flops += kernel.work->flops * double(kernel.calls);
  return time;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

double kernelSeconds(const StepTime &time) {
  double total = 0;
  for (const KernelTime &kernel : time.kernels)
    total += kernel.seconds;
  return total;
}

/// In GFLOP/s; 0 where there is no work or no time.
double rate(double flops, double seconds) {
  return seconds > 0 ? flops / seconds * 1e-9 : 0;
}

double flopsOf(const KernelTime &kernel) {
  return kernel.work ? kernel.work->flops * double(kernel.calls) : 0;
}

void print(const Program &program, const StepTime &time) {
  std::string extents;
  for (size_t i = 0; i < time.extents.size(); ++i)
    extents += fmt::format("{}{} {}", i ? ", " : "", program.symbols[i],
                           time.extents[i]);
  fmt::print("{}: {:.1f} us a step (median of {}), p99 {:.1f} us", extents,
             time.median * 1e6, time.steps, time.p99 * 1e6);
  if (time.flops > 0)
    fmt::print(", {:.1f} GFLOP/s", rate(time.flops, time.median));
  fmt::print("\n\n{:<36} {:<24} {:>6} {:>10} {:>7} {:>9}\n", "kernel",
             "section", "calls", "us", "share", "GFLOP/s");
  const double total = kernelSeconds(time);
  for (const KernelTime &kernel : time.kernels)
    fmt::print("{:<36} {:<24} {:>6} {:>10.1f} {:>6.1f}% {:>9}\n", kernel.name,
               kernel.section, kernel.calls, kernel.seconds * 1e6,
               total > 0 ? 100 * kernel.seconds / total : 0,
               flopsOf(kernel) > 0 ? fmt::format("{:.1f}", rate(flopsOf(kernel),
                                                                kernel.seconds))
                                   : "");
  fmt::print("{:<36} {:<24} {:>6} {:>10.1f}\n\n", "all kernels, each alone", "",
             "", total * 1e6);
}

Json toJson(const StepTime &time) {
  Json json = {
      {"batch", time.batch},      {"extents", time.extents},
      {"steps", time.steps},      {"median_us", time.median * 1e6},
      {"p99_us", time.p99 * 1e6}, {"gflops", rate(time.flops, time.median)},
      {"kernels", Json::array()}};
  for (const KernelTime &kernel : time.kernels)
    json["kernels"].push_back(
        {{"name", kernel.name},
         {"section", kernel.section},
         {"calls", kernel.calls},
         {"us", kernel.seconds * 1e6},
         {"gflops", rate(flopsOf(kernel), kernel.seconds)}});
  return json;
}

Status bench(const BenchOptions &options) {
  BETZ_RETURN_IF_ERROR(checkKeeps(options.json, {options.program.program}));
  BETZ_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                        openProgram(options.program));
  Json report = {{"program", options.program.program.string()},
                 {"device", session->device().name()},
                 {"isa", session->isa()},
                 {"steps", Json::array()}};
  const bool show = options.json != "-";
  if (show)
    fmt::print("{} on {}, {} code\n", options.program.program.string(),
               session->device().name(), session->isa());
  for (int64_t batch : options.batches) {
    BETZ_ASSIGN_OR_RETURN(StepTime time, measure(*session, options, batch));
    if (show)
      print(session->program(), time);
    report["steps"].push_back(toJson(time));
  }
  return options.json.empty() ? Status::ok()
                              : writeJsonReport(report, options.json);
}

} // namespace

void addBenchCommand(CommandLine &line) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App *command =
      line.addCommand("bench", "Time a step of a program and its kernels",
                      [options] { return bench(*options); });
  addProgramOptions(*command, options->program);
  command
      ->add_option("--batch", options->batches,
                   "Windows of a step; several, with commas between, are "
                   "measured one after the other")
      ->delimiter(',')
      ->check(CLI::Range(int64_t(0), int64_t(1) << 20))
      ->capture_default_str();
  command
      ->add_option("--events", options->events,
                   "Events of a window (at most what the program takes)")
      ->check(CLI::Range(int64_t(0), int64_t(1) << 20))
      ->capture_default_str();
  command
      ->add_option("--min-time", options->minTime,
                   "Seconds to measure each batch for")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  command->add_option("--json", options->json,
                      "Write the report to FILE, or - for standard output");
  command->footer("Inputs are random but always the same. A kernel's time is "
                  "that of its launches,\neach run alone.\n\n"
                  "Example:\n  bench m.betz --batch 1,8 --threads 2");
}

} // namespace betz
