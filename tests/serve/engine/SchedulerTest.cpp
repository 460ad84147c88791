// The scheduler on a clock that the test moves and a device that is a formula.
#include "serve/engine/Scheduler.h"

#include <gtest/gtest.h>
#include <random>

namespace betz::serve {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

const Clock::time_point kStart{1000s};

/// A model whose batch of w windows takes fixed + each * w.
struct Model : ModelSchedule {
  nanoseconds fixed, each;

  Model(nanoseconds fixed, nanoseconds each, int64_t largest = 16)
      : fixed(fixed), each(each) {
    buckets = {{1, 100}, {largest, 100 * largest}};
    maxWindows = largest;
    for (int64_t windows = 1; windows <= largest; ++windows)
      for (int i = 0; i < 400; ++i)
        times.learn(windows, 10 * windows, time(windows));
  }
  nanoseconds time(int64_t windows) const { return fixed + each * windows; }
};

Job makeJob(uint32_t slot, Model &model, nanoseconds deadline,
            Priority priority = Priority::Normal, int64_t windows = 1) {
  return {slot,    &model,      priority, kStart, kStart + deadline,
          windows, 10 * windows};
}

struct Taken {
  std::vector<uint32_t> batch, dropped;
};

std::vector<uint32_t> slotsOf(const std::vector<Job> &jobs) {
  std::vector<uint32_t> slots;
  for (const Job &job : jobs)
    slots.push_back(job.slot);
  return slots;
}

Taken take(Scheduler &scheduler, nanoseconds after = 0ns) {
  std::vector<Job> batch, dropped;
  scheduler.take(kStart + after, batch, dropped);
  return {slotsOf(batch), slotsOf(dropped)};
}

using Slots = std::vector<uint32_t>;

TEST(Scheduler, EarliestDeadlineFirst) {
  Model model(0ms, 1ms); // batches gain nothing
  Scheduler scheduler(8);
  EXPECT_FALSE(scheduler.admit(makeJob(1, model, 30ms), kStart));
  EXPECT_FALSE(scheduler.admit(makeJob(2, model, 10ms), kStart));
  EXPECT_FALSE(scheduler.admit(makeJob(3, model, 20ms), kStart));
  EXPECT_EQ(take(scheduler).batch, Slots{2});
  EXPECT_EQ(take(scheduler).batch, Slots{3});
  EXPECT_EQ(take(scheduler).batch, Slots{1});
  EXPECT_EQ(take(scheduler).batch, Slots{});
}

TEST(Scheduler, EqualDeadlinesInOrderOfArrival) {
  Model model(10ms, 0ms);
  Scheduler scheduler(8);
  for (uint32_t slot : {7, 3, 5})
    EXPECT_FALSE(scheduler.admit(makeJob(slot, model, 40ms), kStart));
  EXPECT_EQ(take(scheduler).batch, (Slots{7, 3, 5}));
}

TEST(Scheduler, ClassesAreStrict) {
  Model model(0ms, 1ms);
  Scheduler scheduler(8);
  scheduler.admit(makeJob(1, model, 10ms, Priority::Bulk), kStart);
  scheduler.admit(makeJob(2, model, 20ms, Priority::Normal), kStart);
  scheduler.admit(makeJob(3, model, 30ms, Priority::Urgent), kStart);
  EXPECT_EQ(take(scheduler).batch, Slots{3});
  EXPECT_EQ(take(scheduler).batch, Slots{2});
  EXPECT_EQ(take(scheduler).batch, Slots{1});
}

TEST(Scheduler, ABatchOfWhatWaitsWhereThatGains) {
  Model model(50ms, 1ms);
  Scheduler scheduler(32);
  for (uint32_t slot = 0; slot < 20; ++slot)
    EXPECT_FALSE(scheduler.admit(makeJob(slot, model, 1s), kStart));
  EXPECT_EQ(take(scheduler).batch.size(), 16u) << "the largest bucket";
  EXPECT_EQ(take(scheduler).batch.size(), 4u) << "what is left, without a wait";
}

TEST(Scheduler, NoBatchWhereItGainsNothing) {
  Model model(0ms, 5ms);
  Scheduler scheduler(32);
  for (uint32_t slot = 0; slot < 6; ++slot)
    EXPECT_FALSE(scheduler.admit(makeJob(slot, model, 1s), kStart));
  EXPECT_EQ(take(scheduler).batch, Slots{0});
}

TEST(Scheduler, ABatchKeepsItsFirstDeadline) {
  Model model(8ms, 1ms);
  Scheduler scheduler(32);
  EXPECT_FALSE(scheduler.admit(makeJob(0, model, 11ms), kStart));
  for (uint32_t slot = 1; slot < 9; ++slot)
    EXPECT_FALSE(scheduler.admit(makeJob(slot, model, 1s), kStart));
  // Three end at 11 ms, four would at 12.
  EXPECT_EQ(take(scheduler).batch, (Slots{0, 1, 2}));
}

TEST(Scheduler, ABatchKeepsOtherModelsDeadlines) {
  Model model(8ms, 1ms), other(5ms, 0ms);
  Scheduler scheduler(32);
  EXPECT_FALSE(scheduler.admit(makeJob(0, model, 19ms), kStart));
  EXPECT_FALSE(scheduler.admit(makeJob(1, other, 20500us), kStart));
  for (uint32_t slot = 2; slot < 12; ++slot)
    EXPECT_FALSE(scheduler.admit(makeJob(slot, model, 1s), kStart));
  // The other model's job needs 5 ms, so the batch must end by 15.5 ms.
  EXPECT_EQ(take(scheduler).batch, (Slots{0, 2, 3, 4, 5, 6, 7}));
  scheduler.setBusyUntil(kStart + 15ms);
  EXPECT_EQ(take(scheduler, 15ms).batch, Slots{1});
}

TEST(Scheduler, RefusesWhatWouldBeLateAtOnce) {
  Model model(0ms, 10ms);
  Scheduler scheduler(32);
  scheduler.setBusyUntil(kStart + 5ms);
  EXPECT_FALSE(scheduler.admit(makeJob(1, model, 100ms), kStart));
  EXPECT_FALSE(scheduler.admit(makeJob(2, model, 100ms), kStart));
  // 5 ms until the device is free, two before it: ends at 35 ms.
  EXPECT_FALSE(scheduler.admit(makeJob(3, model, 110ms), kStart));
  auto refusal =
      scheduler.admit(makeJob(4, model, 14ms), kStart); // itself: 15 ms
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->kind, ErrorKind::Late);
  EXPECT_EQ(refusal->retryAfter, 45ms);
  EXPECT_EQ(scheduler.size(), 3u);
}

TEST(Scheduler, RefusesWhatWouldMakeAnotherLate) {
  Model model(0ms, 10ms);
  Scheduler scheduler(32);
  EXPECT_FALSE(scheduler.admit(makeJob(1, model, 15ms), kStart));
  auto refusal = scheduler.admit(makeJob(2, model, 12ms), kStart);
  ASSERT_TRUE(refusal) << "it could end at 10 ms, but then the first at 20";
  EXPECT_EQ(refusal->kind, ErrorKind::Late);
  EXPECT_FALSE(
      scheduler.admit(makeJob(3, model, 12ms, Priority::Urgent), kStart))
      << "an urgent one may push aside";
  EXPECT_EQ(take(scheduler).batch, Slots{3});
  scheduler.setBusyUntil(kStart + 10ms);
  Taken taken = take(scheduler, 10ms);
  EXPECT_EQ(taken.batch, Slots{});
  EXPECT_EQ(taken.dropped, Slots{1}) << "it cannot end in time any more";
}

TEST(Scheduler, WhatExpiredNeverRuns) {
  Model model(0ms, 1ms);
  Scheduler scheduler(8);
  EXPECT_FALSE(scheduler.admit(makeJob(1, model, 5ms), kStart));
  EXPECT_FALSE(scheduler.admit(makeJob(2, model, 50ms), kStart));
  Taken taken = take(scheduler, 6ms);
  EXPECT_EQ(taken.dropped, Slots{1});
  EXPECT_EQ(taken.batch, Slots{2});
  auto refusal = scheduler.admit(makeJob(3, model, 5ms), kStart + 5ms);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->kind, ErrorKind::Expired);
}

TEST(Scheduler, TheQueueIsBounded) {
  Model model(0ms, 1ms);
  Scheduler scheduler(2);
  EXPECT_FALSE(scheduler.admit(makeJob(1, model, 1s), kStart));
  EXPECT_FALSE(scheduler.admit(makeJob(2, model, 1s), kStart));
  auto refusal = scheduler.admit(makeJob(3, model, 1s), kStart);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->kind, ErrorKind::QueueFull);
  EXPECT_EQ(refusal->retryAfter, 2ms);
}

TEST(Scheduler, RemovesWhatIsCancelled) {
  Model model(0ms, 1ms);
  Scheduler scheduler(8);
  scheduler.admit(makeJob(1, model, 10ms), kStart);
  scheduler.admit(makeJob(2, model, 20ms), kStart);
  EXPECT_TRUE(scheduler.remove(1));
  EXPECT_FALSE(scheduler.remove(1));
  EXPECT_EQ(take(scheduler).batch, Slots{2});
  EXPECT_FALSE(scheduler.remove(2)) << "it is running";
}

TEST(Scheduler, LargeRequestsFitTheirBucket) {
  Model model(9ms, 1ms, 8);
  Scheduler scheduler(8);
  scheduler.admit(makeJob(1, model, 1s, Priority::Normal, 5), kStart);
  scheduler.admit(makeJob(2, model, 1s, Priority::Normal, 3), kStart);
  scheduler.admit(makeJob(3, model, 1s, Priority::Normal, 1), kStart);
  EXPECT_EQ(take(scheduler).batch, (Slots{1, 2}));
  EXPECT_EQ(take(scheduler).batch, Slots{3});
}

TEST(Scheduler, NothingLearnedAcceptsAndBatches) {
  Model model(1ms, 1ms);
  model.times = {};
  Scheduler scheduler(8);
  for (uint32_t slot = 0; slot < 3; ++slot)
    EXPECT_FALSE(scheduler.admit(makeJob(slot, model, 1ms), kStart));
  EXPECT_EQ(take(scheduler).batch.size(), 3u);
}

/// What becomes of requests that arrive at random.
struct Outcome {
  int offered = 0, accepted = 0, onTime = 0, waiting = 0;
  nanoseconds length{0};
};

/// Poisson arrivals of one-window requests at `rate` a second for ten seconds;
/// batches take what the model says, times up to `jitter` more or less.
Outcome simulate(Model &model, double rate, nanoseconds deadline,
                 double jitter) {
  std::mt19937 random(7);
  std::exponential_distribution<double> gap(rate);
  std::uniform_real_distribution<double> factor(1 - jitter, 1 + jitter);
  Scheduler scheduler(4096);
  Outcome outcome;
  std::vector<Job> batch, dropped;
  Clock::time_point now = kStart, freeAt = kStart;
  uint32_t slot = 0;
  while (now < kStart + 10s) {
    const auto arrival = now + nanoseconds(int64_t(gap(random) * 1e9));
    while (freeAt <= arrival && scheduler.size() > 0) {
      const Clock::time_point start = std::max(freeAt, now);
      scheduler.take(start, batch, dropped);
      if (batch.empty())
        break;
      const auto predicted = Scheduler::predict(batch).mean;
      const auto time = nanoseconds(int64_t(
          double(model.time(int64_t(batch.size())).count()) * factor(random)));
      freeAt = start + time;
      scheduler.setBusyUntil(start + predicted);
      model.times.learn(int64_t(batch.size()), 10 * int64_t(batch.size()),
                        time);
      for (const Job &job : batch)
        outcome.onTime += freeAt <= job.deadline;
      now = std::max(now, std::min(freeAt, arrival));
    }
    now = arrival;
    ++outcome.offered;
    Job job = makeJob(slot++, model, 0ns);
    job.arrival = now;
    job.deadline = now + deadline;
    outcome.accepted += !scheduler.admit(job, now);
  }
  outcome.waiting = int(scheduler.size());
  outcome.length = now - kStart;
  return outcome;
}

TEST(Scheduler, AtTwiceWhatItCanCarryTheAcceptedAreOnTime) {
  for (auto [fixed, each] : {std::pair(0ms, 8ms), std::pair(4ms, 1ms)}) {
    Model model(fixed, each);
    const double best = 16 / (double(model.time(16).count()) * 1e-9);
    const Outcome outcome = simulate(model, 2 * best, 100ms, 0.05);
    EXPECT_GT(outcome.offered, 1.8 * best * 10);
    EXPECT_EQ(outcome.onTime + outcome.waiting, outcome.accepted);
    const double goodput =
        outcome.onTime / (double(outcome.length.count()) * 1e-9);
    EXPECT_GE(goodput, 0.95 * best) << "fixed " << fixed.count();
  }
}

TEST(Scheduler, BelowItsLimitNothingIsRefused) {
  Model model(4ms, 1ms);
  const double best = 16 / (double(model.time(16).count()) * 1e-9);
  const Outcome outcome = simulate(model, 0.7 * best, 200ms, 0.05);
  EXPECT_EQ(outcome.accepted, outcome.offered);
  EXPECT_EQ(outcome.onTime + outcome.waiting, outcome.accepted);
}

} // namespace
} // namespace betz::serve
