// SPDX-License-Identifier: Apache-2.0
#include "ops/host/multiplier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace cormorant::ops {
namespace {

TEST(Multiplier, RepresentsTheFactorTo31Bits) {
  for (const double factor : {1e-9, 0.001, 0.4999999999, 0.5, 0.75, 0.9999999999, 1.0, 3.14159, 1000.0}) {
    const Multiplier m = quantize_multiplier(factor);
    EXPECT_NEAR(std::ldexp(m.multiplier, m.shift - 31) / factor, 1.0, 1e-9) << factor;
    EXPECT_GE(m.multiplier, 1 << 30);
  }
  EXPECT_EQ(quantize_multiplier(0), (Multiplier{0, 0}));
  EXPECT_EQ(quantize_multiplier(1e-30), (Multiplier{0, 0}));
}

TEST(Multiplier, RefusesWhatIsNoFactor) {
  EXPECT_THROW(quantize_multiplier(-1), std::logic_error);
  EXPECT_THROW(quantize_multiplier(std::numeric_limits<double>::infinity()), std::logic_error);
  EXPECT_THROW(quantize_multiplier(std::nan("")), std::logic_error);
}

TEST(QuantizeValue, RoundsHalvesAwayFromZeroAndClamps) {
  EXPECT_EQ(quantize_value(0.25, 0.5, 0, -128, 127), 1);
  EXPECT_EQ(quantize_value(-0.25, 0.5, 0, -128, 127), -1);
  EXPECT_EQ(quantize_value(1e9, 0.5, 3, -128, 127), 127);
  EXPECT_EQ(quantize_value(-1e9, 0.5, 3, -128, 127), -128);
}

// The definition: value · multiplier / 2^31 rounded half up, then / 2^right rounded half away from zero.
TEST(Requantize, RoundsTiesAwayFromZeroInTheShift) {
  constexpr std::int32_t kHalf = 1 << 30;  // a factor of 0.5
  EXPECT_EQ(requantize(6, kHalf, -1), 2);  // 3 / 2 = 1.5
  EXPECT_EQ(requantize(-6, kHalf, -1), -2);
  EXPECT_EQ(requantize(5, kHalf, 0), 3);    // 2.5 rounds up
  EXPECT_EQ(requantize(-5, kHalf, 0), -2);  // -2.5 rounds up too: the multiply rounds half up
  EXPECT_EQ(requantize(100, kHalf, 3), 400);
  EXPECT_EQ(rounding_shift_right(std::numeric_limits<std::int32_t>::min(), 31), -1);
  EXPECT_EQ(rounding_shift_right(std::numeric_limits<std::int32_t>::max(), 31), 1);
  EXPECT_EQ(rounding_shift_right(7, 0), 7);
}

}  // namespace
}  // namespace cormorant::ops
