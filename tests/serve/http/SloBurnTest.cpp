#include "serve/http/SloBurn.h"

#include <gtest/gtest.h>

using namespace betz::serve;
using namespace std::chrono_literals;

namespace {

constexpr SloBurn::Clock::time_point kStart{100h};

TEST(SloBurn, IsTheShareOfBadRequestsOverTheBudget) {
  SloBurn burn;
  EXPECT_EQ(burn.rate(5min, kStart), 0);
  for (int i = 0; i < 99; ++i)
    burn.add(true, kStart);
  burn.add(false, kStart);
  EXPECT_DOUBLE_EQ(burn.rate(5min, kStart), 1);
  for (int i = 0; i < 100; ++i)
    burn.add(false, kStart + 1min);
  EXPECT_DOUBLE_EQ(burn.rate(5min, kStart + 1min), 101.0 / 200 / 0.01);
}

TEST(SloBurn, ForgetsWhatIsOlderThanTheWindow) {
  SloBurn burn;
  burn.add(false, kStart);
  burn.add(true, kStart + 4min);
  EXPECT_DOUBLE_EQ(burn.rate(5min, kStart + 4min), 50);
  EXPECT_DOUBLE_EQ(burn.rate(5min, kStart + 5min), 0);
  EXPECT_DOUBLE_EQ(burn.rate(1h, kStart + 59min), 50);
  EXPECT_DOUBLE_EQ(burn.rate(1h, kStart + 1h), 0);
}

TEST(SloBurn, ReusesSlotsOfAnHourAgo) {
  SloBurn burn;
  burn.add(false, kStart);
  burn.add(true, kStart + 1h);
  EXPECT_DOUBLE_EQ(burn.rate(1h, kStart + 1h), 0);
}

} // namespace
