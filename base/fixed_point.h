// SPDX-License-Identifier: Apache-2.0
//
// All integer arithmetic of quantized operators, in one place: the meaning of every kernel on every instruction set.
// docs/numerics.md derives it; the constexpr functions here are its executable form. The arithmetic equals CMSIS-NN's
// default: a doubling high multiply that rounds half up, then a right shift that rounds ties away from zero.
#pragma once

#include <cstdint>

namespace cormorant {

// A real factor as multiplier · 2^(shift − 31), multiplier in [2^30, 2^31) (0 for a factor of 0). shift > 0 shifts
// left.
struct Multiplier {
  std::int32_t multiplier = 0;
  std::int32_t shift = 0;
  friend constexpr bool operator==(const Multiplier&, const Multiplier&) = default;
};

// (a · b · 2 + 2^31) >> 32, without saturation: a and b are never both INT32_MIN, since multipliers are positive.
constexpr std::int32_t doubling_high_multiply(std::int32_t a, std::int32_t b) {
  const std::int64_t product = static_cast<std::int64_t>(a) * b + (std::int64_t{1} << 30);
  return static_cast<std::int32_t>(product >> 31);
}

// value / 2^exponent, ties away from zero; exponent in [0, 31].
constexpr std::int32_t rounding_shift_right(std::int32_t value, std::int32_t exponent) {
  const std::int32_t mask = static_cast<std::int32_t>((std::uint32_t{1} << exponent) - 1);
  const std::int32_t remainder = value & mask;
  const std::int32_t threshold = (mask >> 1) + (value < 0 ? 1 : 0);
  return (value >> exponent) + (remainder > threshold ? 1 : 0);
}

// Left shifts wrap as the hardware's do; a compiler that respects the accumulator bound never lets them overflow.
constexpr std::int32_t shift_left(std::int32_t value, std::int32_t amount) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(value) << amount);
}

constexpr std::int32_t requantize(std::int32_t value, std::int32_t multiplier, std::int32_t shift) {
  const std::int32_t left = shift > 0 ? shift : 0;
  const std::int32_t right = shift > 0 ? 0 : -shift;
  return rounding_shift_right(doubling_high_multiply(shift_left(value, left), multiplier), right);
}

constexpr std::int32_t requantize(std::int32_t value, Multiplier m) { return requantize(value, m.multiplier, m.shift); }

constexpr std::int32_t clamp(std::int32_t value, std::int32_t low, std::int32_t high) {
  return value < low ? low : (value > high ? high : value);
}

}  // namespace cormorant
