#include "serve/load/Arrivals.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace betz::serve {
namespace {

using namespace std::chrono_literals;

int64_t countBetween(const std::vector<std::chrono::nanoseconds> &times,
                     std::chrono::nanoseconds from,
                     std::chrono::nanoseconds until) {
  return std::ranges::count_if(
      times, [&](auto time) { return time >= from && time < until; });
}

TEST(Arrivals, TheRateInTheMeanAndAscending) {
  for (ArrivalPattern pattern :
       {ArrivalPattern::Poisson, ArrivalPattern::Bursts,
        ArrivalPattern::Ramp}) {
    const auto times = arrivalTimes(pattern, 1000, 10s, 3);
    EXPECT_NEAR(double(times.size()), 10000, 1300) << toString(pattern);
    EXPECT_TRUE(std::ranges::is_sorted(times));
    EXPECT_LT(times.back(), 10s);
    EXPECT_EQ(times, arrivalTimes(pattern, 1000, 10s, 3));
    EXPECT_NE(times, arrivalTimes(pattern, 1000, 10s, 4));
  }
}

TEST(Arrivals, BurstsComeTogether) {
  const auto times = arrivalTimes(ArrivalPattern::Bursts, 1000, 10s, 3);
  ASSERT_EQ(times.size() % kBurst, 0u);
  for (size_t i = 0; i < times.size(); i += kBurst)
    EXPECT_EQ(times[i], times[i + kBurst - 1]);
}

TEST(Arrivals, ARampGrows) {
  const auto times = arrivalTimes(ArrivalPattern::Ramp, 1000, 10s, 3);
  // The rate grows from 0 to 2000 a second.
  EXPECT_NEAR(double(countBetween(times, 0s, 5s)), 2500, 250);
  EXPECT_NEAR(double(countBetween(times, 9s, 10s)), 1900, 250);
}

} // namespace
} // namespace betz::serve
