#include "serve/engine/ServiceTimes.h"

#include <gtest/gtest.h>

namespace betz::serve {
namespace {

using namespace std::chrono_literals;

TEST(ServiceTimes, NothingLearnedIsZero) {
  EXPECT_EQ(ServiceTimes().predict(4, 100).mean, 0ns);
}

TEST(ServiceTimes, BetweenMeasuredBatchesOnALine) {
  ServiceTimes times;
  times.learn(2, 200, 2ms);
  times.learn(10, 1000, 6ms);
  EXPECT_EQ(times.predict(2, 200).mean, 2ms);
  EXPECT_EQ(times.predict(4, 400).mean, 3ms);
  EXPECT_EQ(times.predict(6, 600).mean, 4ms);
  EXPECT_EQ(times.predict(10, 1000).mean, 6ms);
}

TEST(ServiceTimes, OutsideMeasuredBatches) {
  ServiceTimes times;
  times.learn(4, 400, 4ms);
  times.learn(8, 800, 6ms);
  EXPECT_EQ(times.predict(16, 1600).mean, 12ms) << "in proportion";
  EXPECT_EQ(times.predict(1, 100).mean, 4ms) << "the smallest measured";
}

TEST(ServiceTimes, EventsAWindowAreApart) {
  ServiceTimes times;
  times.learn(1, 100, 1ms);
  times.learn(1, 1000, 3ms);
  EXPECT_EQ(times.predict(1, 100).mean, 1ms);
  EXPECT_EQ(times.predict(1, 1000).mean, 3ms);
  EXPECT_EQ(times.predict(1, 1200).mean, 3ms) << "the nearest that is known";
  EXPECT_EQ(times.predict(1, 0).mean, 1ms);
  EXPECT_EQ(times.predict(2, 2000).mean, 6ms);
}

TEST(ServiceTimes, FollowsADeviceThatSlowsDown) {
  ServiceTimes times;
  for (int i = 0; i < 50; ++i)
    times.learn(1, 100, 1ms);
  EXPECT_NEAR(double(times.predict(1, 100).mean.count()), 1e6, 1);
  EXPECT_LT(times.predict(1, 100).deviation, 10us);
  for (int i = 0; i < 100; ++i)
    times.learn(1, 100, 2ms);
  EXPECT_NEAR(double(times.predict(1, 100).mean.count()), 2e6, 1e4);
}

TEST(ServiceTimes, AStallCountsLittle) {
  ServiceTimes times;
  for (int i = 0; i < 50; ++i)
    times.learn(1, 100, 1ms);
  times.learn(1, 100, 1s);
  EXPECT_LT(times.predict(1, 100).mean, 1200us);
}

TEST(ServiceTimes, LargeNumbers) {
  ServiceTimes times;
  times.learn(1 << 20, int64_t(1) << 40, 5s);
  EXPECT_EQ(times.predict(1 << 20, int64_t(1) << 40).mean, 5s);
  EXPECT_EQ(times.predict(1, 1).mean, 5s);
}

} // namespace
} // namespace betz::serve
