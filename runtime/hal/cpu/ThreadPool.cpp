#include "runtime/hal/cpu/ThreadPool.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <system_error>

namespace betz {
namespace {

/// Longer than one thread waits for the last chunk of another at the end of a
/// kernel: a worker that slept each time would be late for each next kernel.
constexpr auto kSpinTime = std::chrono::microseconds(300);
constexpr int kPausesPerClockRead = 32;
/// Small enough that a thread which lost its core for a while leaves little
/// behind; large enough that taking a chunk costs nothing beside it.
constexpr int64_t kChunksPerThread = 8;

/// Whether `done()` became true within kSpinTime.
template <typename F> bool spinUntil(F done) {
  auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < kPausesPerClockRead; ++i) {
      if (done())
        return true;
      _mm_pause();
    }
  } while (std::chrono::steady_clock::now() - start < kSpinTime);
  return done();
}

/// The cores that this thread may use if there are just as many as `threads`,
/// else none.
std::vector<int> coresOf(int threads) {
  cpu_set_t allowed;
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) == 0 &&
      CPU_COUNT(&allowed) == threads)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &allowed))
        cores.push_back(core);
  return cores;
}

/// A wish: where it is refused the thread stays free.
void keepOn(std::thread &thread, int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  ::pthread_setaffinity_np(thread.native_handle(), sizeof(one), &one);
}

} // namespace

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(int threads) {
  std::unique_ptr<ThreadPool> pool(new ThreadPool(threads));
  // Linux likes to wake a worker on the core of the thread that woke it, which
  // computes on, and leaves both there while another core does other work. With
  // a core for each thread there is nothing to choose.
  std::vector<int> cores = coresOf(threads);
  try {
    for (int i = 1; i < threads; ++i) {
      pool->workers.emplace_back([&pool = *pool] { pool.work(); });
      if (!cores.empty())
        keepOn(pool->workers.back(), cores[size_t(i)]);
    }
  } catch (const std::system_error &error) {
    return resourceExhausted(
        fmt::format("cannot start {} threads: {}", threads, error.what()));
  }
  return pool;
}

ThreadPool::~ThreadPool() {
  stopping.store(true, std::memory_order_relaxed);
  announced.fetch_add(1);
  announced.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::parallelFor(int64_t taskCount, Body run, const void *with) {
  if (taskCount <= 0)
    return;
  if (taskCount == 1 || threads == 1)
    return run(with, 0, taskCount);

  std::lock_guard lock(callers);
  int64_t pieces = std::min(taskCount, threads * kChunksPerThread);
  int64_t perChunk = taskCount / pieces;
  uint32_t chunkCount = uint32_t((taskCount + perChunk - 1) / perChunk);
  body.store(run, std::memory_order_relaxed);
  context.store(with, std::memory_order_relaxed);
  tasks.store(taskCount, std::memory_order_relaxed);
  chunkTasks.store(perChunk, std::memory_order_relaxed);
  chunks.store(chunkCount, std::memory_order_relaxed);
  unfinished.store(chunkCount, std::memory_order_relaxed);

  uint32_t epoch = uint32_t(ticket.load(std::memory_order_relaxed) >> 32) + 1;
  ticket.store(uint64_t(epoch) << 32 | chunkCount, std::memory_order_release);
  // Sequentially consistent: notify_all must not look for sleepers before the
  // new epoch is visible to one that is about to sleep.
  announced.store(epoch);
  announced.notify_all();

  runChunks(epoch);
  waitUntilFinished();
}

void ThreadPool::runChunks(uint32_t epoch) {
  uint64_t at = ticket.load(std::memory_order_acquire);
  while (uint32_t(at >> 32) == epoch && uint32_t(at) > 0) {
    Body run = body.load(std::memory_order_relaxed);
    const void *with = context.load(std::memory_order_relaxed);
    int64_t perChunk = chunkTasks.load(std::memory_order_relaxed);
    int64_t taskCount = tasks.load(std::memory_order_relaxed);
    uint32_t chunkCount = chunks.load(std::memory_order_relaxed);
    if (!ticket.compare_exchange_weak(at, at - 1, std::memory_order_acq_rel,
                                      std::memory_order_acquire))
      continue;
    // A chunk of this epoch was left until now, so its loop has not ended and
    // what was read above belongs to it.
    int64_t begin = int64_t(chunkCount - uint32_t(at)) * perChunk;
    run(with, begin, std::min(begin + perChunk, taskCount));
    if (unfinished.fetch_sub(1) == 1)
      unfinished.notify_one();
    at = ticket.load(std::memory_order_acquire);
  }
}

void ThreadPool::waitUntilFinished() {
  auto done = [&] { return unfinished.load(std::memory_order_acquire) == 0; };
  if (spinUntil(done))
    return;
  while (uint32_t left = unfinished.load(std::memory_order_acquire))
    unfinished.wait(left, std::memory_order_acquire);
}

void ThreadPool::work() {
  uint32_t seen = 0;
  while (true) {
    auto isNew = [&] {
      return announced.load(std::memory_order_acquire) != seen;
    };
    if (!spinUntil(isNew))
      announced.wait(seen, std::memory_order_acquire);
    if (stopping.load(std::memory_order_relaxed))
      return;
    seen = announced.load(std::memory_order_acquire);
    runChunks(seen);
  }
}

} // namespace betz
