//===- BenchProgram.h - What benchmarks of programs share -----------------===//
#pragma once

#include "codegen/common/KernelSpec.h"
#include "runtime/session/Session.h"
#include "tools/Calibration.h"
#include "tools/RandomInputs.h"

#include <benchmark/benchmark.h>
#include <functional>
#include <map>

namespace betz {

/// What the command line says beside Google Benchmark's own options.
struct BenchRequest {
  std::string program = {};
  std::vector<int64_t> batches = {1, 8};
  std::vector<int> threads = {1, 2};
  int64_t events = 512;
};

/// Parses the command line over `defaults`, lets `add` register benchmarks, and
/// runs them. Returns the exit code: 2 for wrong options or programs.
int runBenchmarks(int argc, char **argv, BenchRequest defaults,
                  const std::function<Status(const BenchRequest &)> &add);

/// A session with the inputs of one step.
struct PreparedStep {
  std::unique_ptr<Session> session;
  HostStep step;

  /// Runs the step; an error is a bug, since the inputs are legal.
  void run();
};
Result<std::shared_ptr<PreparedStep>> prepareStep(const BenchRequest &request,
                                                  int64_t batch, int threads);

/// Limits of this instruction-set level and number of threads; measured once.
const MachineLimits &cachedLimits(const std::string &isa, int threads);

/// Adds the work of one iteration, its rates (`gflops`, `gbytes`: 1e9 a second)
/// and the fractions of both limits that they are, where known. `seconds` is
/// what all iterations took together.
void addWorkCounters(benchmark::State &state, double seconds,
                     const KernelWork &work, const MachineLimits &limits);

} // namespace betz
