#include "runtime/hal/cpu/ThreadPool.h"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>

namespace betz {
namespace {

std::unique_ptr<ThreadPool> makePool(int threads) {
  auto pool = ThreadPool::create(threads);
  EXPECT_TRUE(pool.isOk()) << pool.status().message();
  return std::move(pool).value();
}

/// Adds 1 to each plain int of a range: a task that ran twice or never shows,
/// and so does a write that the caller cannot see.
void increment(const void *context, int64_t begin, int64_t end) {
  auto &counts = **static_cast<std::vector<int> *const *>(context);
  for (int64_t i = begin; i < end; ++i)
    ++counts[size_t(i)];
}

TEST(ThreadPool, EveryTaskOnceOverManyLoops) {
  for (int threads : {1, 2, 3, 8, 33}) {
    auto pool = makePool(threads);
    EXPECT_EQ(pool->threadCount(), threads);
    std::vector<int> counts(257);
    std::vector<int> expected(257);
    std::vector<int> *context = &counts;
    for (int64_t loop = 0; loop < 2000; ++loop) {
      int64_t tasks = loop * 7919 % 258;
      pool->parallelFor(tasks, increment, &context);
      for (int64_t i = 0; i < tasks; ++i)
        ++expected[size_t(i)];
    }
    EXPECT_EQ(counts, expected);
  }
}

TEST(ThreadPool, WakesFromSleep) {
  auto pool = makePool(4);
  std::vector<int> counts(64);
  std::vector<int> *context = &counts;
  for (int loop = 0; loop < 20; ++loop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    pool->parallelFor(64, increment, &context);
  }
  EXPECT_EQ(counts, std::vector<int>(64, 20));
}

TEST(ThreadPool, CallersTakeTurns) {
  auto pool = makePool(3);
  std::vector<std::vector<int>> counts(4, std::vector<int>(100));
  std::vector<std::thread> callers;
  for (std::vector<int> &mine : counts)
    callers.emplace_back([&pool, context = &mine] {
      for (int loop = 0; loop < 500; ++loop)
        pool->parallelFor(100, increment, &context);
    });
  for (std::thread &caller : callers)
    caller.join();
  for (const std::vector<int> &mine : counts)
    EXPECT_EQ(mine, std::vector<int>(100, 500));
}

TEST(ThreadPool, SharesWorkAmongThreads) {
  // Two tasks that each wait for the other end only if two threads run them.
  auto pool = makePool(2);
  std::atomic<int> arrived = 0;
  std::atomic<int> *context = &arrived;
  pool->parallelFor(
      2,
      [](const void *data, int64_t, int64_t) {
        auto &arrived = **static_cast<std::atomic<int> *const *>(data);
        ++arrived;
        while (arrived < 2)
          std::this_thread::yield();
      },
      &context);
  EXPECT_EQ(arrived, 2);
}

TEST(ThreadPool, UnusedPoolEnds) {
  for (int i = 0; i < 50; ++i)
    makePool(6);
}

} // namespace
} // namespace betz
