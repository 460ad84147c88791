//===- ThreadPool.h - Runs the tasks of one kernel at a time --------------===//
#pragma once

#include "runtime/base/Status.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace betz {

/// A fixed set of threads that share out the tasks of a loop; the caller is one
/// of them. Workers spin for a fraction of a millisecond after a loop, since
/// the next kernel of a step follows at once, and then sleep. A loop never
/// waits for a sleeping worker: whoever is awake does the work. Where the
/// creating thread may use just as many cores as there are threads, each worker
/// keeps to one.
///
/// Thread-safe; loops of several callers take turns. No call allocates.
class ThreadPool {
public:
  /// Computes tasks [begin, end); must not throw or start another loop.
  using Body = void (*)(const void *context, int64_t begin, int64_t end);

  /// `threads` counts the caller: 1 starts none.
  static Result<std::unique_ptr<ThreadPool>> create(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int threadCount() const { return threads; }

  /// Runs `body` over [0, tasks) in disjoint ranges and returns when all are
  /// done. What they wrote is visible to the caller.
  void parallelFor(int64_t tasks, Body body, const void *context);

private:
  explicit ThreadPool(int threads) : threads(threads) {}

  void work();
  void runChunks(uint32_t epoch);
  void waitUntilFinished();

  const int threads;
  std::vector<std::thread> workers;
  std::mutex callers;

  // The loop that is running. A worker may read these while the next loop is
  // being set up, so they are atomic; what it read counts only if it can then
  // take a chunk of the epoch that it read them for.
  std::atomic<Body> body = nullptr;
  std::atomic<const void *> context = nullptr;
  std::atomic<int64_t> tasks = 0;
  std::atomic<int64_t> chunkTasks = 0;
  std::atomic<uint32_t> chunks = 0;

  /// Epoch in the upper half, chunks that nobody has taken in the lower.
  alignas(64) std::atomic<uint64_t> ticket = 0;
  /// Chunks that are not done.
  alignas(64) std::atomic<uint32_t> unfinished = 0;
  /// The epoch again, for workers to wait on.
  alignas(64) std::atomic<uint32_t> announced = 0;
  std::atomic<bool> stopping = false;
};

} // namespace betz
