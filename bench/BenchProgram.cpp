#include "bench/BenchProgram.h"

#include "runtime/hal/cpu/CpuDevice.h"
#include "tools/OpenProgram.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace betz {
namespace {

constexpr uint32_t kSeed = 1;

int report(const Status &status) {
  fmt::print(stderr, "error: {}\n", status.message());
  return 2;
}

void addOptions(CLI::App &app, BenchRequest &request) {
  app.add_option("program", request.program, "The compiled program")
      ->required();
  app.add_option("--batch", request.batches, "Windows of a step")
      ->delimiter(',')
      ->check(CLI::Range(int64_t(1), int64_t(1) << 20))
      ->capture_default_str();
  app.add_option("--threads", request.threads, "Threads of the cpu device")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--events", request.events, "Events of a window")
      ->check(CLI::Range(int64_t(0), int64_t(1) << 20))
      ->capture_default_str();
}

} // namespace

int runBenchmarks(int argc, char **argv, BenchRequest request,
                  const std::function<Status(const BenchRequest &)> &add) {
  benchmark::Initialize(&argc, argv);
  CLI::App app("Beside these, Google Benchmark's --benchmark_* options.");
  addOptions(app, request);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (Status status = add(request); !status.isOk())
    return report(status);
  benchmark::AddCustomContext("program", request.program);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

void PreparedStep::run() {
  std::vector<InputBinding> inputs = step.bindInputs();
  std::vector<OutputBinding> outputs = step.bindOutputs();
  if (Status status = session->run(inputs, outputs); !status.isOk())
    std::exit(report(status));
}

Result<std::shared_ptr<PreparedStep>> prepareStep(const BenchRequest &request,
                                                  int64_t batch, int threads) {
  ProgramRequest program;
  program.program = request.program;
  program.threads = threads;
  auto prepared = std::make_shared<PreparedStep>();
  BETZ_ASSIGN_OR_RETURN(OpenedProgram opened, openProgram(program));
  prepared->session = std::move(opened.session);
  const Session &session = *prepared->session;
  std::vector<int64_t> extents =
      chooseExtents(session.program(), session.target(), batch, request.events);
  if (!session.fits(extents))
    return invalidArgument(
        fmt::format("--batch {} fits no bucket of {}; the largest takes {}",
                    batch, request.program,
                    fmt::join(session.target().plans.back().capacity, ", ")));
  prepared->step = makeRandomStep(session.program(), std::move(extents), kSeed);
  return prepared;
}

const MachineLimits &cachedLimits(const std::string &isa, int threads) {
  static std::map<std::pair<std::string, int>, MachineLimits> known;
  auto [entry, isNew] = known.try_emplace({isa, threads});
  if (isNew)
    entry->second = measureLimits(isa, threads);
  return entry->second;
}

void addWorkCounters(benchmark::State &state, double seconds,
                     const KernelWork &work, const MachineLimits &limits) {
  const double runs = double(state.iterations());
  auto add = [&](const char *name, double value) {
    if (std::isfinite(value) && value > 0)
      state.counters[name] = value;
  };
  add("flops", work.flops);
  add("bytes", work.bytes);
  add("gflops", work.flops * runs / seconds * 1e-9);
  add("gbytes", work.bytes * runs / seconds * 1e-9);
  add("peak_fraction", work.flops * runs / seconds / limits.flops);
  add("copy_fraction", work.bytes * runs / seconds / limits.copyBytes);
}

} // namespace betz
