#include "runtime/base/BFloat16.h"

#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace betz {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// The magnitude of finite bits and of the infinity after them, as bf16 of a
/// larger exponent would have it.
double magnitude(uint32_t bits) {
  return bits < 0x7f80 ? double(fromBFloat16(uint16_t(bits))) : 0x1p128;
}

TEST(BFloat16, EveryValueIsKept) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = fromBFloat16(uint16_t(bits));
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(fromBFloat16(toBFloat16(value)))) << bits;
    else
      EXPECT_EQ(toBFloat16(value), bits);
  }
}

/// Between any two neighbours: the middle goes to the even one, everything
/// beside it to the nearer one, however near the middle it is.
TEST(BFloat16, RoundsToNearestEven) {
  for (uint32_t low = 0; low < 0x7f80; ++low) {
    const double middle = (magnitude(low) + magnitude(low + 1)) / 2;
    const uint32_t even = low % 2 == 0 ? low : low + 1;
    for (double sign : {1.0, -1.0}) {
      const uint32_t signBit = sign < 0 ? 0x8000 : 0;
      EXPECT_EQ(toBFloat16(sign * middle), even | signBit);
      EXPECT_EQ(toBFloat16(sign * std::nextafter(middle, 0)), low | signBit);
      EXPECT_EQ(toBFloat16(sign * std::nextafter(middle, kInf)),
                (low + 1) | signBit);
    }
  }
}

TEST(BFloat16, RandomValuesGoToTheNearest) {
  std::mt19937_64 random(std::random_device{}());
  for (int i = 0; i < 200000; ++i) {
    const double value =
        std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random),
                   std::uniform_int_distribution<int>(-140, 127)(random));
    const uint16_t bits = toBFloat16(value);
    const double error = std::fabs(fromBFloat16(bits) - value);
    for (int step : {-1, 1}) {
      const uint16_t other = uint16_t(bits + step);
      if ((other & 0x7fff) < 0x7f80 && (other & 0x8000) == (bits & 0x8000)) {
        EXPECT_LE(error, std::fabs(fromBFloat16(other) - value)) << value;
      }
    }
  }
}

TEST(BFloat16, InfinitiesAndNan) {
  EXPECT_EQ(toBFloat16(kInf), 0x7f80);
  EXPECT_EQ(toBFloat16(-kInf), 0xff80);
  EXPECT_EQ(toBFloat16(1e300), 0x7f80);
  EXPECT_EQ(toBFloat16(-1e300), 0xff80);
  EXPECT_EQ(toBFloat16(0.0), 0);
  EXPECT_EQ(toBFloat16(-0.0), 0x8000);
  EXPECT_EQ(toBFloat16(1e-300), 0);
  EXPECT_TRUE(std::isnan(
      fromBFloat16(toBFloat16(std::numeric_limits<double>::quiet_NaN()))));
}

} // namespace
} // namespace betz
