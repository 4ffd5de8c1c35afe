// SPDX-License-Identifier: Apache-2.0
//
// The integer arithmetic of softmax, one value at a time, as CMSIS-NN and TensorFlow Lite define it; the reference and
// the kernels without vectors share it. Numbers are fixed point, Qm.n with m integer and n fractional bits.
//
// Multiply is doubling_high_multiply or a form of it that suits the CPU. Its second operand is never negative.
#pragma once

#include <cstdint>

#include "base/fixed_point.h"
#include "ops/softmax/softmax.h"

namespace cormorant::ops::softmax {

// exp(−1/8), and exp(−2^k) for k = −2 … 4, all Q0.31.
inline constexpr std::int32_t kExpOfMinusEighth = 1895147668;
inline constexpr std::int32_t kExpOfMinusPower[] = {1672461947, 1302514674, 790015084, 290630308,
                                                    39332535,   720401,     242};
inline constexpr std::int32_t kThird = 715827883;  // Q0.31

inline constexpr std::int32_t kSumBits = 12;       // integer bits of the sum of exponentials
inline constexpr std::int32_t kQuarter = 1 << 24;  // 1/4 in Q5.26

// exp(value) as Q0.31 for value <= 0 in Q5.26. The value is split into a multiple of 1/4, whose bits select precomputed
// powers of e, and the rest in [−1/4, 0), for which four terms of the series around −1/8 suffice.
template <auto Multiply>
constexpr std::int32_t exp_of_negative(std::int32_t value) {
  if (value == 0) return INT32_MAX;
  const std::int32_t rest = (value & (kQuarter - 1)) - kQuarter;
  const auto quarters = static_cast<std::uint32_t>(rest) - static_cast<std::uint32_t>(value);  // multiple of kQuarter
  const std::int32_t x = shift_left(rest, kInputIntegerBits) + (1 << 28);                      // Q0.31, |x| <= 1/8
  const std::int32_t magnitude = x < 0 ? -x : x;
  const std::int32_t x2 = Multiply(magnitude, magnitude);
  const std::int32_t x3 = Multiply(x, x2);
  const std::int32_t x4 = Multiply(x2, x2);
  const std::int32_t higher = Multiply(rounding_shift_right(x4, 2) + x3, kThird) + x2;
  const std::int32_t series = x + rounding_shift_right(higher, 1);
  std::int32_t result = kExpOfMinusEighth + Multiply(series, kExpOfMinusEighth);
  for (std::uint32_t bit = 0; bit < 7; ++bit) {
    if (((quarters >> (24 + bit)) & 1U) != 0) result = Multiply(result, kExpOfMinusPower[bit]);
  }
  return result;
}

constexpr std::int32_t saturating_shift_left(std::int32_t value, std::int32_t amount) {
  const std::int32_t limit = (1 << (31 - amount)) - 1;
  if (value > limit) return INT32_MAX;
  if (value < -limit) return INT32_MIN;
  return shift_left(value, amount);
}

// 1 / (1 + x) as Q0.31 for x in [0, 1), Q0.31: three steps of Newton's iteration for 2 / (1 + x), in Q2.29, from the
// line 48/17 − 32/17 · (1 + x) / 2.
template <auto Multiply>
constexpr std::int32_t reciprocal_of_one_plus(std::int32_t x) {
  constexpr std::int32_t kOne = 1 << 29;
  const std::int32_t half_denominator = (x >> 1) + (1 << 30);
  std::int32_t y = 1515870810 + Multiply(-1010580540, half_denominator);
  for (int step = 0; step < 3; ++step) {
    const std::int32_t error = kOne - Multiply(half_denominator, y);
    y += saturating_shift_left(Multiply(error, y), 2);
  }
  return saturating_shift_left(y, 1);
}

// The exponent that an input's distance from the row's largest value stands for, Q5.26.
template <auto Multiply>
constexpr std::int32_t exponent_of(std::int32_t difference, std::int32_t multiplier, std::int32_t shift) {
  return Multiply(shift_left(difference, shift), multiplier);
}

// What a row's sum is at least, if its exponentials are some: that of 0, which every row has. Tables of a hostile
// program have to be held to it, or shifts would be negative.
inline constexpr std::uint32_t kLeastSum = 1U << (31 - kSumBits);

// The factor that turns an exponential (Q0.31) into an output: scale, Q0.31, then a rounding shift.
struct Normalizer {
  std::int32_t scale;
  std::int32_t shift;  // 23 … 35, less the halvings
};

// `sum` is a row's sum of exponentials, Q12.19, at least that of one 0. Each halving of the output's scale is one place
// less to shift by.
template <auto Multiply>
constexpr Normalizer normalizer_of(std::uint32_t sum, std::int32_t leading_zeros, std::uint32_t halvings = 0) {
  const auto fraction = static_cast<std::int32_t>((sum << leading_zeros) & 0x7fffffffU);
  return {reciprocal_of_one_plus<Multiply>(fraction),
          kSumBits + 23 - leading_zeros - static_cast<std::int32_t>(halvings)};
}

// The output that an exponential stands for. A shift beyond 31 leaves less than a half.
template <auto Multiply>
constexpr std::int8_t normalize(std::int32_t exponential, const Normalizer& by) {
  if (by.shift > 31) return -128;
  const std::int32_t level = rounding_shift_right(Multiply(exponential, by.scale), by.shift) - 128;
  return static_cast<std::int8_t>(level > 127 ? 127 : level);
}

// The binary logarithm of a row's sum of exponentials, Q12.19, with kLogBits fractional bits: squaring a number in [1,
// 2) doubles its logarithm, and whether the square reaches 2 is the next bit.
template <auto Multiply>
constexpr std::int32_t binary_logarithm(std::uint32_t sum) {
  std::int32_t leading_zeros = 0;
  for (; (sum >> 31) == 0; sum <<= 1) ++leading_zeros;
  auto y = static_cast<std::int32_t>(sum >> 1);  // Q1.30
  std::int32_t result = kSumBits - leading_zeros;
  for (std::int32_t bit = 0; bit < kLogBits; ++bit) {
    const std::int32_t square = Multiply(y, y);  // Q2.29
    const bool reaches = square >= (1 << 30);
    result = 2 * result + (reaches ? 1 : 0);
    y = reaches ? square : 2 * square;
  }
  return result;
}

// In the result's unit, at least 0: the largest value's own exponential is 1. Bounded, whatever the numbers are.
template <auto Multiply>
constexpr std::int32_t log_of_sum(std::uint32_t sum, std::int32_t multiplier, std::int32_t shift) {
  const std::int32_t logarithm = binary_logarithm<Multiply>(sum == 0 ? 1U << (31 - kSumBits) : sum);
  const std::int32_t scaled = Multiply(shift > 0 ? 2 * logarithm : logarithm, multiplier);
  return clamp(shift > 0 ? scaled : rounding_shift_right(scaled, -shift), -kLogBound, kLogBound);
}

}  // namespace cormorant::ops::softmax
