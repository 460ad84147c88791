#include "tools/Calibration.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <thread>
#include <unistd.h>
#include <vector>

namespace betz {
namespace {

using Clock = std::chrono::steady_clock;

/// Independent sums: two multiply-adds a cycle with a latency of four or five.
constexpr int kChains = 12;
/// Half a millisecond: some repetitions go undisturbed on a busy machine.
constexpr int64_t kRounds = 250'000;
constexpr int kFlopsRepetitions = 100;
/// Longer ones, each of which goes through all of the buffers.
constexpr int kCopyRepetitions = 8;

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

template <int Lanes>
using Vector = float __attribute__((vector_size(Lanes * 4)));

/// Inlined into functions of each level, whose instructions it then uses.
template <int Lanes> [[gnu::always_inline]] inline void runMultiplyAdds() {
  // The compiler cannot know values that pass through these statements.
  float half = 0.5f, one = 1;
  asm volatile("" : "+x"(half), "+x"(one));
  Vector<Lanes> sums[kChains] = {};
  for (int64_t round = 0; round < kRounds; ++round)
    for (int chain = 0; chain < kChains; ++chain)
      sums[chain] = sums[chain] * half + one;
  for (int chain = 1; chain < kChains; ++chain)
    sums[0] += sums[chain];
  float total = 0;
  for (int lane = 0; lane < Lanes; ++lane)
    total += sums[0][lane];
  asm volatile("" : : "x"(total));
}

__attribute__((target("avx512f"))) void multiplyAddAvx512() {
  runMultiplyAdds<16>();
}
__attribute__((target("avx2,fma"))) void multiplyAddAvx2() {
  runMultiplyAdds<8>();
}
void multiplyAddBaseline() { runMultiplyAdds<4>(); }

struct Level {
  int lanes;
  void (*multiplyAdd)();
};

Level levelOf(std::string_view isa) {
  if (isa == "avx512")
    return {16, multiplyAddAvx512};
  if (isa == "avx2")
    return {8, multiplyAddAvx2};
  return {4, multiplyAddBaseline};
}

/// Stores past the caches, so that what is overwritten is not read first.
void copyPastCaches(Vector<4> *to, const Vector<4> *from, size_t count) {
  for (size_t i = 0; i < count; ++i)
    __builtin_nontemporal_store(from[i], to + i);
}

//===----------------------------------------------------------------------===//
// Timing
//===----------------------------------------------------------------------===//

/// Seconds from when the first thread starts `body(thread)` to when the last
/// ends it.
template <typename Body> double timeTogether(int threads, const Body &body) {
  std::barrier start(threads);
  std::vector<Clock::time_point> begins(static_cast<size_t>(threads));
  std::vector<Clock::time_point> ends(begins.size());
  auto work = [&](int thread) {
    start.arrive_and_wait();
    begins[size_t(thread)] = Clock::now();
    body(thread);
    ends[size_t(thread)] = Clock::now();
  };
  {
    std::vector<std::jthread> others;
    for (int thread = 1; thread < threads; ++thread)
      others.emplace_back(work, thread);
    work(0);
  }
  return std::chrono::duration<double>(*std::ranges::max_element(ends) -
                                       *std::ranges::min_element(begins))
      .count();
}

template <typename Body>
double fastest(int repetitions, int threads, const Body &body) {
  double best = timeTogether(threads, body);
  for (int i = 1; i < repetitions; ++i)
    best = std::min(best, timeTogether(threads, body));
  return best;
}

double measureFlops(std::string_view isa, int threads) {
  Level level = levelOf(isa);
  double seconds =
      fastest(kFlopsRepetitions, threads, [&](int) { level.multiplyAdd(); });
  return 2.0 * kChains * level.lanes * double(kRounds) * threads / seconds;
}

/// Bytes of each of the two buffers of a copy; together they exceed the cache.
size_t copyBufferBytes() {
  long cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return std::clamp<size_t>(size_t(std::max(cache, 0l)), size_t(64) << 20,
                            size_t(256) << 20);
}

double measureCopy(int threads) {
  const size_t bytes = copyBufferBytes();
  const size_t count = bytes / sizeof(Vector<4>);
  std::unique_ptr<Vector<4>[]> from(new (std::nothrow) Vector<4>[count]);
  std::unique_ptr<Vector<4>[]> to(new (std::nothrow) Vector<4>[count]);
  if (!from || !to)
    return 0;
  std::fill_n(from.get(), count, Vector<4>{1, 2, 3, 4});
  const size_t share = count / size_t(threads);
  double seconds = fastest(kCopyRepetitions, threads, [&](int thread) {
    size_t begin = share * size_t(thread);
    copyPastCaches(to.get() + begin, from.get() + begin, share);
  });
  return 2.0 * double(share * sizeof(Vector<4>)) * threads / seconds;
}

} // namespace

MachineLimits measureLimits(std::string_view isa, int threads) {
  return {.threads = threads,
          .flops = measureFlops(isa, threads),
          .copyBytes = measureCopy(threads)};
}

} // namespace betz
