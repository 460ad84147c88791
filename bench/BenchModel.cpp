// Whole steps of a program, by batch and by number of threads.
#include "bench/BenchProgram.h"
#include "tools/OpenProgram.h"
#include "tools/StepProfile.h"

#include <fmt/format.h>

namespace betz {
namespace {

KernelWork workOfStep(const Session &session) {
  KernelWork total;
  for (const Launch &launch : session.lastPlan().launches)
    if (auto work = workOf(session.target().kernels[launch.kernel],
                           session.lastExtents())) {
      total.flops += work->flops;
      total.bytes += work->bytes;
    }
  return total;
}

void addStep(std::shared_ptr<PreparedStep> prepared, int64_t batch,
             int threads) {
  auto body = [=](benchmark::State &state) {
    const Clock::time_point start = Clock::now();
    for (auto _ : state)
      prepared->run();
    addWorkCounters(state, secondsSince(start), workOfStep(*prepared->session),
                    cachedLimits(prepared->session->isa(), threads));
    state.SetItemsProcessed(state.iterations() * batch);
  };
  benchmark::RegisterBenchmark(
      fmt::format("step/batch:{}/threads:{}", batch, threads).c_str(), body)
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

Status addSteps(const BenchRequest &request) {
  for (int threads : request.threads)
    for (int64_t batch : request.batches) {
      BETZ_ASSIGN_OR_RETURN(std::shared_ptr<PreparedStep> prepared,
                            prepareStep(request, batch, threads));
      addStep(std::move(prepared), batch, threads);
    }
  return Status::ok();
}

} // namespace
} // namespace betz

int main(int argc, char **argv) {
  return betz::runBenchmarks(argc, argv, {}, betz::addSteps);
}
