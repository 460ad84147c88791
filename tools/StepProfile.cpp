#include "tools/StepProfile.h"
#include "runtime/base/Progress.h"
#include "runtime/hal/Timing.h"
#include "runtime/session/OpenDevice.h"
#include "tools/OpenProgram.h"
#include "tools/RandomInputs.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace betz {
namespace {

constexpr uint32_t kSeed = 1;

/// How often something is repeated: `wanted` times, or fewer if that takes
/// longer than `patience` seconds, but at least `least` times.
struct Repetition {
  size_t least, wanted;
  double patience;

  bool continues(size_t done, Clock::time_point begin) const {
    return done < least || (done < wanted && secondsSince(begin) < patience);
  }
};

constexpr Repetition kWarmups = {1, 3, 0.5};
constexpr Repetition kPasses = {3, 50, 2};
constexpr size_t kAloneSamples = 15;
constexpr double kAlonePatience = 2;

/// A hundred make a p99 mean something; no one waits for a hundred slow steps.
Repetition stepRepetition(double minTime) {
  return {3, 100, std::max(10 * minTime, 2.0)};
}

/// Seconds of each step, sorted.
Result<std::vector<double>> sampleSteps(Session &session, HostStep &step,
                                        double minTime) {
  std::vector<InputBinding> inputs = step.bindInputs();
  std::vector<OutputBinding> outputs = step.bindOutputs();
  Clock::time_point begin = Clock::now();
  for (size_t i = 0; kWarmups.continues(i, begin); ++i)
    BETZ_RETURN_IF_ERROR(session.run(inputs, outputs));
  std::vector<double> samples;
  Progress progress("measuring steps", 0, "steps");
  const Repetition repetition = stepRepetition(minTime);
  begin = Clock::now();
  while (repetition.continues(samples.size(), begin) ||
         secondsSince(begin) < minTime) {
    Clock::time_point start = Clock::now();
    BETZ_RETURN_IF_ERROR(session.run(inputs, outputs));
    samples.push_back(secondsSince(start));
    progress.update(int64_t(samples.size()));
  }
  std::ranges::sort(samples);
  return samples;
}

/// Seconds a step when the next one is submitted before this one is waited
/// for. At least as many steps and as long as for steps alone.
Result<double> measureInFlight(Session &session, HostStep &step, size_t wanted,
                               double minTime) {
  const std::vector<InputBinding> inputs = step.bindInputs();
  const std::vector<OutputBinding> outputs = step.bindOutputs();
  BETZ_ASSIGN_OR_RETURN(StepTicket running, session.submit(inputs, outputs));
  size_t done = 0;
  Clock::time_point begin = Clock::now();
  while (done < wanted || secondsSince(begin) < minTime) {
    BETZ_ASSIGN_OR_RETURN(StepTicket next, session.submit(inputs, outputs));
    BETZ_RETURN_IF_ERROR(session.wait(running));
    running = next;
    ++done;
  }
  const double seconds = secondsSince(begin) / double(done);
  BETZ_RETURN_IF_ERROR(session.wait(running));
  return seconds;
}

/// Every launch of the step that ran last, in order, with timestamps.
Status runPass(Session &session, std::vector<LaunchTime> &launches) {
  Clock::time_point start = Clock::now();
  for (size_t i = 0; i < launches.size(); ++i) {
    launches[i].begin = secondsSince(start);
    BETZ_RETURN_IF_ERROR(session.runLaunch(i));
    launches[i].end = secondsSince(start);
  }
  return Status::ok();
}

double medianOf(std::vector<double> samples) {
  std::ranges::sort(samples);
  return quantile(samples, 0.5);
}

/// Adds each launch's median over many passes to its kernel; leaves the
/// fastest pass in `profile.launches`.
Status sampleInStep(Session &session, StepProfile &profile) {
  std::vector<std::vector<double>> samples(profile.launches.size());
  std::vector<LaunchTime> pass = profile.launches;
  double fastest = 0;
  Clock::time_point begin = Clock::now();
  for (size_t done = 0; kPasses.continues(done, begin); ++done) {
    BETZ_RETURN_IF_ERROR(runPass(session, pass));
    for (size_t i = 0; i < pass.size(); ++i)
      samples[i].push_back(pass[i].end - pass[i].begin);
    if (done == 0 || (!pass.empty() && pass.back().end < fastest)) {
      profile.launches = pass;
      fastest = pass.empty() ? 0 : pass.back().end;
    }
  }
  for (size_t i = 0; i < samples.size(); ++i)
    profile.kernels[pass[i].kernel].seconds += medianOf(std::move(samples[i]));
  return Status::ok();
}

Status sampleAlone(Session &session, StepProfile &profile) {
  const size_t count = profile.launches.size();
  const Repetition repetition = {
      3, kAloneSamples, kAlonePatience / double(std::max<size_t>(count, 1))};
  for (size_t i = 0; i < count; ++i) {
    std::vector<double> samples;
    Clock::time_point begin = Clock::now();
    while (repetition.continues(samples.size(), begin)) {
      Clock::time_point start = Clock::now();
      BETZ_RETURN_IF_ERROR(session.runLaunch(i));
      samples.push_back(secondsSince(start));
    }
    profile.kernels[profile.launches[i].kernel].aloneSeconds +=
        medianOf(std::move(samples));
  }
  return Status::ok();
}

/// The kernels and launches of the step that ran last, without times.
void listLaunches(const Session &session, StepProfile &profile) {
  const std::vector<KernelSpecEntry> &specs = session.target().kernels;
  std::vector<std::optional<size_t>> indices(specs.size());
  for (const Launch &launch : session.lastPlan().launches) {
    const KernelSpecEntry &spec = specs[launch.kernel];
    std::optional<size_t> &index = indices[launch.kernel];
    std::optional<KernelWork> work = workOf(spec, session.lastExtents());
    if (!index) {
      index = profile.kernels.size();
      profile.kernels.push_back(
          {.name = spec.name, .code = spec.code, .section = spec.section});
      if (work)
        profile.kernels.back().work = KernelWork();
    }
    KernelTime &kernel = profile.kernels[*index];
    ++kernel.calls;
    if (work) {
      kernel.work->flops += work->flops;
      kernel.work->bytes += work->bytes;
    }
    profile.launches.push_back({.kernel = *index, .work = work});
  }
}

/// Median seconds of all launches of the step that ran last, given one by one.
Result<double> timeSeparately(Session &session, size_t launches) {
  Stream &stream = session.commands();
  std::vector<double> samples;
  for (size_t pass = 0; pass < kAloneSamples; ++pass) {
    BETZ_RETURN_IF_ERROR(stream.mark(0));
    for (size_t i = 0; i < launches; ++i)
      BETZ_RETURN_IF_ERROR(session.enqueueLaunch(i));
    BETZ_RETURN_IF_ERROR(stream.mark(1));
    BETZ_RETURN_IF_ERROR(stream.synchronize());
    BETZ_ASSIGN_OR_RETURN(double seconds, stream.secondsBetween(0, 1));
    samples.push_back(seconds);
  }
  return medianOf(std::move(samples));
}

/// The graph and each kernel by the device's clock. Launches go in order, so
/// that each finds in memory what it reads in a step.
Status sampleOnDevice(Session &session, StepProfile &profile) {
  GraphTime graph = {.nodes = profile.launches.size()};
  BETZ_ASSIGN_OR_RETURN(graph.seconds,
                        timeReplays(session.commands(), session.lastGraph()));
  BETZ_ASSIGN_OR_RETURN(graph.separateSeconds,
                        timeSeparately(session, graph.nodes));
  profile.graph = graph;
  for (KernelTime &kernel : profile.kernels)
    kernel.seconds = 0;
  Progress progress("measuring kernels", int64_t(graph.nodes), "launches");
  for (size_t i = 0; i < graph.nodes; ++i) {
    BETZ_ASSIGN_OR_RETURN(double seconds,
                          timeInGraph(session.commands(), 1, [&](size_t) {
                            return session.enqueueLaunch(i);
                          }));
    profile.kernels[profile.launches[i].kernel].seconds += seconds;
    progress.update(int64_t(i + 1));
  }
  return Status::ok();
}

/// The extent of the symbol "batch"; 1 where a program has none.
int64_t windowsOf(const Program &program, std::span<const int64_t> extents) {
  auto found = std::ranges::find(program.symbols, "batch");
  return found == program.symbols.end()
             ? 1
             : extents[size_t(found - program.symbols.begin())];
}

Status bucketError(const Session &session, int64_t batch, int64_t events) {
  return invalidArgument(fmt::format(
      "--batch {} with {} events a window fits no bucket of the program; the "
      "largest takes {}",
      batch, events, fmt::join(session.target().plans.back().capacity, ", ")));
}

} // namespace

double StepProfile::flops() const {
  double total = 0;
  for (const KernelTime &kernel : kernels)
    total += kernel.flops();
  return total;
}

double StepProfile::kernelSeconds() const {
  double total = 0;
  for (const KernelTime &kernel : kernels)
    total += kernel.seconds;
  return total;
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

Result<HostStep> makeProfileStep(const Session &session, int64_t batch,
                                 int64_t events) {
  std::vector<int64_t> extents =
      chooseExtents(session.program(), session.target(), batch, events);
  if (!session.fits(extents))
    return bucketError(session, batch, events);
  return makeRandomStep(session.program(), std::move(extents), kSeed);
}

Result<StepProfile> profileStep(Session &session, HostStep &step,
                                const ProfileOptions &options) {
  BETZ_ASSIGN_OR_RETURN(std::vector<double> samples,
                        sampleSteps(session, step, options.minTime));
  StepProfile profile;
  profile.batch = windowsOf(session.program(), step.extents);
  profile.extents = step.extents;
  profile.steps = samples.size();
  profile.median = quantile(samples, 0.5);
  profile.p99 = quantile(samples, 0.99);
  if (session.stepsInFlight() > 1) {
    BETZ_ASSIGN_OR_RETURN(
        profile.inFlight,
        measureInFlight(session, step, samples.size(), options.minTime));
  }
  profile.device = readDeviceState(options.device);
  listLaunches(session, profile);
  if (options.stepsOnly) {
    profile.launches.clear();
    return profile;
  }
  BETZ_RETURN_IF_ERROR(sampleInStep(session, profile));
  BETZ_RETURN_IF_ERROR(sampleAlone(session, profile));
  if (session.target().target.starts_with("cuda:"))
    BETZ_RETURN_IF_ERROR(sampleOnDevice(session, profile));
  return profile;
}

} // namespace betz
