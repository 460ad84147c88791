// Each distinct kernel of a program, run again and again on what the step
// before it left, against the limits measured in the same run.
#include "bench/BenchProgram.h"
#include "tools/OpenProgram.h"
#include "tools/StepProfile.h"

#include <fmt/format.h>
#include <set>

namespace betz {
namespace {

void addKernel(std::shared_ptr<PreparedStep> prepared, size_t launch,
               int64_t batch, int threads) {
  const Session &session = *prepared->session;
  const KernelSpecEntry &kernel =
      session.target().kernels[session.lastPlan().launches[launch].kernel];
  const KernelWork work =
      workOf(kernel, session.lastExtents()).value_or(KernelWork());
  auto body = [=](benchmark::State &state) {
    const Clock::time_point start = Clock::now();
    for (auto _ : state)
      if (Status status = prepared->session->runLaunch(launch); !status.isOk())
        state.SkipWithError(std::string(status.message()).c_str());
    addWorkCounters(state, secondsSince(start), work,
                    cachedLimits(prepared->session->isa(), threads));
  };
  benchmark::RegisterBenchmark(
      fmt::format("{}/batch:{}/threads:{}", kernel.name, batch, threads)
          .c_str(),
      body)
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

Status addKernels(const BenchRequest &request) {
  for (int threads : request.threads)
    for (int64_t batch : request.batches) {
      BETZ_ASSIGN_OR_RETURN(std::shared_ptr<PreparedStep> prepared,
                            prepareStep(request, batch, threads));
      prepared->run();
      std::set<std::string> seen;
      const Session &session = *prepared->session;
      const std::vector<Launch> &launches = session.lastPlan().launches;
      for (size_t i = 0; i < launches.size(); ++i)
        if (seen.insert(session.target().kernels[launches[i].kernel].code)
                .second)
          addKernel(prepared, i, batch, threads);
    }
  return Status::ok();
}

} // namespace
} // namespace betz

int main(int argc, char **argv) {
  return betz::runBenchmarks(argc, argv, {.batches = {1}, .threads = {1}},
                             betz::addKernels);
}
