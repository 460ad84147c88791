#include "tools/Tuner.h"
#include "codegen/cuda/CubinStack.h"
#include "codegen/cuda/CudaCode.h"
#include "codegen/tune/LaunchTimer.h"
#include "codegen/tune/Retile.h"
#include "runtime/base/Log.h"
#include "runtime/base/Progress.h"
#include "runtime/hal/Timing.h"
#include "runtime/program/CudaImages.h"
#include "tools/RandomInputs.h"
#include "tools/TuneReport.h"

#include <algorithm>
#include <array>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <mutex>

namespace betz {
namespace {

constexpr uint32_t kSeed = 1;

/// A step that bucket number `plan` runs: windows of `events` events, or if a
/// smaller bucket would take those, as many as this one holds.
HostStep makeStep(const Program &program, const TargetVariant &target,
                  size_t plan, int64_t events) {
  const std::vector<int64_t> &capacity = target.plans[plan].capacity;
  std::vector<int64_t> extents = capacity;
  for (const SplitsCheck &check : program.splitsChecks) {
    const Dim &splits = program.inputs[check.input].tensor.shape[0];
    int64_t &rows = extents[size_t(check.rowsSymbol)];
    rows = std::min(rows, extents[size_t(splits.symbol)] *
                              std::min(events, check.maxRows));
  }
  if (plan > 0 && std::ranges::equal(extents, target.plans[plan - 1].capacity,
                                     std::less_equal<>()))
    extents = capacity;
  return makeRandomStep(program, std::move(extents), kSeed);
}

Status runStep(Session &session, HostStep &step) {
  std::vector<InputBinding> inputs = step.bindInputs();
  std::vector<OutputBinding> outputs = step.bindOutputs();
  return session.run(inputs, outputs);
}

class Tuner {
public:
  Tuner(std::shared_ptr<const Program> program, const TuningDevice &machine,
        int64_t events)
      : program(std::move(program)), machine(machine), events(events) {}

  Result<TuningResult> run() {
    BETZ_ASSIGN_OR_RETURN(session, open(program));
    architecture = cuda::findArchitecture(session->target().target);
    if (!architecture)
      return invalidArgument(
          fmt::format("{} would run the program's code for {}, which has no "
                      "tiles to tune; compile it with --target cuda:sm_90a or "
                      "cuda:sm_80",
                      machine.device->name(), session->target().target));
    describe();
    BETZ_RETURN_IF_ERROR(listTrials());
    BETZ_RETURN_IF_ERROR(compileTrials());
    for (size_t plan = 0; plan < session->target().plans.size(); ++plan)
      BETZ_RETURN_IF_ERROR(measurePlan(plan));
    BETZ_RETURN_IF_ERROR(measureProducts());
    return finish();
  }

private:
  void describe() {
    report.device = machine.device->name();
    report.driver = machine.driver;
    report.cacheBytes = machine.cacheBytes;
    report.target = session->target().target;
    report.isa = session->isa();
    report.startedFrom = session->target().tuning;
    report.time = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
    if (!machine.baseline)
      report.withoutCublas = "not asked for";
  }

  Status listTrials() {
    BETZ_ASSIGN_OR_RETURN(std::vector<tune::Task> tasks,
                          tune::listTasks(session->target()));
    for (tune::Task &task : tasks) {
      TunedKernel kernel{.task = std::move(task)};
      const KernelSpec &spec = kernel.task.spec;
      tune::addTrial(kernel.trials, spec.tile);
      KernelSpec chosen = spec;
      cuda::chooseTile(chosen, *architecture,
                       session->target().plans[kernel.task.plan].capacity);
      kernel.untuned = tune::addTrial(kernel.trials, chosen.tile);
      for (const TileConfig &tile : cuda::tileCandidates(spec, *architecture))
        tune::addTrial(kernel.trials, tile);
      report.kernels.push_back(std::move(kernel));
    }
    return Status::ok();
  }

  static KernelSpec specOf(const TunedKernel &kernel,
                           const tune::Trial &trial) {
    KernelSpec spec = kernel.task.spec;
    spec.tile = trial.tile;
    return spec;
  }

  Status compileTrials() {
    std::map<std::string, KernelSpec> specs;
    for (const TunedKernel &kernel : report.kernels)
      for (const tune::Trial &trial : kernel.trials) {
        KernelSpec spec = specOf(kernel, trial);
        specs.emplace(codeName(spec), std::move(spec));
      }
    Progress progress("compiling candidates", int64_t(specs.size()), "kernels");
    std::mutex mutex;
    BETZ_ASSIGN_OR_RETURN(
        codes, cuda::compileKernels(specs, *architecture, session->isa(),
                                    [&](size_t done) {
                                      std::lock_guard lock(mutex);
                                      progress.update(int64_t(done));
                                    }));
    return Status::ok();
  }

  /// Goes through the step launch by launch: before each, memory holds what it
  /// reads in a step.
  Status measurePlan(size_t plan) {
    HostStep step = makeStep(*program, session->target(), plan, events);
    BETZ_RETURN_IF_ERROR(runStep(*session, step));
    const LaunchPlan &bucket = session->lastPlan();
    BETZ_ASSIGN_OR_RETURN(
        int64_t bytes,
        tune::workingSetBytes(session->target(), bucket, step.extents));
    report.steps.push_back({.extents = step.extents, .bytes = bytes});
    Progress progress(fmt::format("tuning bucket {}", plan),
                      int64_t(bucket.launches.size()), "launches");
    for (size_t i = 0; i < bucket.launches.size(); ++i) {
      for (TunedKernel &kernel : report.kernels)
        if (kernel.task.plan == plan && kernel.task.launches.front() == i)
          BETZ_RETURN_IF_ERROR(measure(kernel, step.extents, bytes));
      BETZ_RETURN_IF_ERROR(session->runLaunch(i));
      progress.update(int64_t(i + 1));
    }
    return Status::ok();
  }

  Status measure(TunedKernel &kernel, const std::vector<int64_t> &extents,
                 int64_t stepBytes) {
    const LaunchPlan &bucket = session->lastPlan();
    const size_t launch = kernel.task.launches.front();
    tune::LaunchShape shape = {kernel.task.spec,
                               bucket.launches[launch].operands, extents,
                               bucket.capacity};
    kernel.extents = extents;
    kernel.sets = tune::bufferSets(shape, stepBytes, machine.cacheBytes);
    BETZ_ASSIGN_OR_RETURN(tune::LaunchTimer timer,
                          tune::LaunchTimer::create(
                              *machine.device, std::move(shape), kernel.sets,
                              [&](size_t operand, size_t bytes) {
                                return read(session->operandOf(launch, operand),
                                            bytes);
                              }));
    for (size_t i = 0; i < kernel.trials.size(); ++i)
      BETZ_RETURN_IF_ERROR(measure(kernel, i, timer));
    kernel.winner = tune::pickWinner(kernel.trials);
    for (size_t i = 0; i < kernel.trials.size(); ++i)
      logInfo("tune", "{} for {}: tile {}: {}", kernel.task.kernel,
              fmt::join(extents, " x "), tileText(kernel.trials[i].tile),
              tune::verdict(kernel.trials, kernel.winner, i));
    return Status::ok();
  }

  /// A tile that the device refuses is rejected, and one that spills unless it
  /// is the program's or the compiler's. A device that has failed ends the
  /// tuning.
  Status measure(TunedKernel &kernel, size_t number, tune::LaunchTimer &timer) {
    tune::Trial &trial = kernel.trials[number];
    const std::string name = codeName(specOf(kernel, trial));
    const Result<std::vector<std::byte>> &code = codes.at(name);
    if (!code.isOk()) {
      trial.rejected = firstLine(code.status().message());
      return Status::ok();
    }
    BETZ_ASSIGN_OR_RETURN(auto images, unpackCudaImages(*code));
    const uint32_t stack = cuda::stackBytes(images.front());
    if (stack > 0 && number > kernel.untuned) {
      trial.rejected =
          fmt::format("spills {} bytes a thread from registers", stack);
      return Status::ok();
    }
    Result<double> seconds = timer.time(*code, name, trial.tile);
    if (seconds.isOk())
      trial.seconds = *seconds;
    else
      trial.rejected = firstLine(seconds.status().message());
    return session->commands().synchronize();
  }

  static std::string firstLine(const std::string &text) {
    return text.substr(0, text.find('\n'));
  }

  Result<std::vector<std::byte>> read(const BufferSlice &slice, size_t bytes) {
    const size_t there = slice.buffer->size() - size_t(slice.offset);
    std::vector<std::byte> content(bytes);
    BETZ_RETURN_IF_ERROR(session->commands().copyToHost(
        content.data(), slice, std::min(bytes, there)));
    BETZ_RETURN_IF_ERROR(session->commands().synchronize());
    return content;
  }

  /// The first product that cuBLASLt does not do ends this, with a reason.
  Status measureProducts() {
    for (TunedKernel &kernel : report.kernels) {
      const auto *core = std::get_if<MatmulCore>(&kernel.task.spec.core);
      if (!core || !report.withoutCublas.empty())
        continue;
      const KernelSpec &spec = kernel.task.spec;
      const ProductShape shape = {spec.result().rows.evaluate(kernel.extents),
                                  core->columns, core->depth,
                                  spec.operands[size_t(core->x)].dtype};
      if (shape.rows == 0)
        continue;
      Result<double> seconds =
          machine.baseline->productSeconds(shape, kernel.sets);
      if (seconds.isOk())
        kernel.cublasSeconds = *seconds;
      else
        report.withoutCublas = seconds.status().message();
    }
    return Status::ok();
  }

  Result<std::shared_ptr<Program>> build(size_t TunedKernel::*choice) {
    std::vector<tune::Task> tasks;
    std::vector<TileConfig> tiles;
    for (const TunedKernel &kernel : report.kernels) {
      tasks.push_back(kernel.task);
      tiles.push_back(kernel.trials[kernel.*choice].tile);
    }
    const size_t target = size_t(&session->target() - program->targets.data());
    BusyLine busy("building the program");
    return tune::retile(*program, target, tasks, tiles);
  }

  Result<std::unique_ptr<Session>> open(std::shared_ptr<const Program> opened) {
    BETZ_ASSIGN_OR_RETURN(std::unique_ptr<Session> created,
                          Session::create(std::move(opened), machine.device));
    BETZ_RETURN_IF_ERROR(writeRandomStates(*created));
    return created;
  }

  Result<TuningResult> finish() {
    BETZ_ASSIGN_OR_RETURN(std::shared_ptr<Program> untuned,
                          build(&TunedKernel::untuned));
    BETZ_ASSIGN_OR_RETURN(std::shared_ptr<Program> tuned,
                          build(&TunedKernel::winner));
    BETZ_ASSIGN_OR_RETURN(std::unique_ptr<Session> untunedSession,
                          open(untuned));
    BETZ_ASSIGN_OR_RETURN(std::unique_ptr<Session> tunedSession, open(tuned));
    for (size_t plan = 0; plan < report.steps.size(); ++plan)
      BETZ_RETURN_IF_ERROR(compareSteps(
          plan, {session.get(), untunedSession.get(), tunedSession.get()}));
    const size_t target = size_t(&session->target() - program->targets.data());
    tuned->targets[target].tuning = tuningRecord(report).dump();
    return TuningResult{std::move(tuned), std::move(report)};
  }

  /// Sessions of the program as it was, with the compiler's tiles, and tuned.
  using Compared = std::array<Session *, 3>;

  /// They take turns, since a device that has been at work runs slower.
  Status compareSteps(size_t plan, const Compared &sessions) {
    constexpr size_t kRounds = 9;
    std::vector<HostStep> steps;
    for (Session *one : sessions) {
      steps.push_back(makeStep(*program, session->target(), plan, events));
      BETZ_RETURN_IF_ERROR(runStep(*one, steps.back()));
      BETZ_RETURN_IF_ERROR(checkBits(steps.front(), steps.back()));
    }
    std::array<std::vector<double>, 3> seconds;
    for (size_t round = 0; round < kRounds; ++round)
      for (size_t i = 0; i < sessions.size(); ++i) {
        BETZ_ASSIGN_OR_RETURN(
            double median,
            timeReplays(sessions[i]->commands(), sessions[i]->lastGraph()));
        seconds[i].push_back(median);
      }
    for (std::vector<double> &samples : seconds)
      std::ranges::nth_element(samples, samples.begin() + kRounds / 2);
    StepTimes &times = report.steps[plan];
    times.given = seconds[0][kRounds / 2];
    times.untuned = seconds[1][kRounds / 2];
    times.tuned = seconds[2][kRounds / 2];
    return Status::ok();
  }

  static Status checkBits(const HostStep &given, const HostStep &other) {
    for (size_t i = 0; i < given.outputs.size(); ++i)
      if (given.outputs[i].data != other.outputs[i].data)
        return internalError(
            fmt::format("output \"{}\" has other bits with other tiles; the "
                        "program is not written",
                        given.outputs[i].name));
    return Status::ok();
  }

  const std::shared_ptr<const Program> program;
  const TuningDevice &machine;
  const int64_t events;
  std::unique_ptr<Session> session;
  const cuda::Architecture *architecture = nullptr;
  /// By code name.
  std::map<std::string, Result<std::vector<std::byte>>> codes;
  TuningReport report;
};

} // namespace

double TuningReport::untunedLoss() const {
  double loss = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const double own = steps[i].untuned / steps[i].tuned - 1;
    loss = i == 0 ? own : std::max(loss, own);
  }
  return loss;
}

Result<TuningResult> tuneProgram(std::shared_ptr<const Program> program,
                                 const TuningDevice &machine, int64_t events) {
  return Tuner(std::move(program), machine, events).run();
}

} // namespace betz
