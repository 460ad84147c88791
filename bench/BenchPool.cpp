// What it costs to hand a loop to the CPU's threads: one empty task a thread,
// the next loop at once after it.
#include "runtime/hal/cpu/ThreadPool.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

namespace {

void dispatch(benchmark::State &state) {
  const int threads = int(state.range(0));
  auto pool = betz::ThreadPool::create(threads);
  if (!pool.isOk())
    return state.SkipWithError(std::string(pool.status().message()).c_str());
  for (auto _ : state)
    (*pool)->parallelFor(
        threads, [](const void *, int64_t, int64_t) {}, nullptr);
}

BENCHMARK(dispatch)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();

} // namespace

BENCHMARK_MAIN();
