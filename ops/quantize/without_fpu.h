// SPDX-License-Identifier: Apache-2.0
//
// Without an FPU: the float product and both its roundings in integers. A library multiplication and conversion per
// element would cost several times as much, plus their code in flash.
//
// Most elements need only the upper 16 bits of both mantissas: one multiplication tells the product to 2^-14 of itself,
// and if that interval holds no rounding boundary, the integer is known. The others are computed exactly.
#pragma once

#include <bit>

#include "base/fixed_point.h"
#include "ops/quantize/kernel.h"

namespace cormorant::ops {

// value / 2^amount to nearest, ties to even; `sticky`: the exact value is slightly larger. amount in [1, 31].
inline std::uint32_t round_half_even(std::uint32_t value, std::uint32_t amount, bool sticky) {
  const std::uint32_t half = std::uint32_t{1} << (amount - 1);
  const std::uint32_t quotient = value >> amount;
  const std::uint32_t rest = value & (2 * half - 1);
  const bool up = rest > half || (rest == half && (sticky || (quotient & 1) != 0));
  return quotient + (up ? 1 : 0);
}

// |round(value · inverse_scale)|; the product is in [2^exponent, 2^(exponent + 2)), exponent in [-2, 16].
[[gnu::noinline]] inline std::uint32_t exact_magnitude(std::uint32_t value_bits, std::uint32_t inverse_bits,
                                                       std::uint32_t exponent) {
  // 24 × 24 bits by parts of 16 and 8: ARMv6-M's products have at most 32 bits.
  const std::uint32_t value_high = ((value_bits >> 8) & 0x7FFF) | 0x8000;
  const std::uint32_t value_low = value_bits & 0xFF;
  const std::uint32_t inverse_high = ((inverse_bits >> 8) & 0x7FFF) | 0x8000;
  const std::uint32_t inverse_low = inverse_bits & 0xFF;
  const std::uint32_t low = value_low * inverse_low;
  const std::uint32_t middle = value_high * inverse_low + value_low * inverse_high + (low >> 8);
  const std::uint32_t high = value_high * inverse_high + (middle >> 8);  // the product's upper 32 of 48 bits
  const bool sticky = ((middle | low) & 0xFF) != 0;
  // First to the 24 bits of a float, then to an integer.
  const std::uint32_t extra = high >> 31;
  const std::uint32_t mantissa = round_half_even(high, 7 + extra, sticky);
  return round_half_even(mantissa, 23 - exponent - extra, false);
}

// |round(value · inverse_scale)|, at most 2^17 (beyond any bound). The scale's range keeps the inverse normal, and
// makes a subnormal value's product less than a half.
inline std::uint32_t rounded_magnitude(std::uint32_t value_bits, std::uint32_t inverse_bits,
                                       std::uint32_t inverse_high) {
  const std::uint32_t exponent = ((value_bits << 1) >> 24) + (inverse_bits >> 23) - 254;  // modulo 2^32
  if (exponent + 2 > 18) {
    if (static_cast<std::int32_t>(exponent) < 0) return 0;
    return (value_bits << 1) > 0xFF000000 ? 0 : 131072;  // NaN, or far outside
  }
  const std::uint32_t value_high = ((value_bits << 8) >> 16) | 0x8000;
  // Half of the product's upper 32 bits, from below; the other parts of the mantissas add less than 2^16, and rounding
  // to float moves it by at most 2^7.
  const std::uint32_t estimate = (value_high * inverse_high) >> 1;
  const std::uint32_t shift = 29 - exponent;
  const std::uint32_t half = (std::uint32_t{1} << shift) >> 1;
  const std::uint32_t least = (estimate + half - 0x80) >> shift;
  const std::uint32_t most = (estimate + half + 0x10080) >> shift;
  return least == most ? least : exact_magnitude(value_bits, inverse_bits, exponent);
}

inline void execute_without_fpu(const QuantizePlan& p) {
  const auto* input = reinterpret_cast<const std::uint32_t*>(p.input);
  const auto inverse = std::bit_cast<std::uint32_t>(p.inverse_scale);
  const std::uint32_t inverse_high = ((inverse << 8) >> 16) | 0x8000;
  auto* output = static_cast<std::int8_t*>(p.output);
  const std::int32_t zero_point = p.zero_point;
  const std::int32_t low = p.low;
  const std::int32_t high = p.high;
  const bool wide = p.wide;
  for (std::uint32_t left = p.count; left != 0; --left) {
    const std::uint32_t bits = *input++;
    const auto magnitude = static_cast<std::int32_t>(rounded_magnitude(bits, inverse, inverse_high));
    const std::int32_t sign = static_cast<std::int32_t>(bits) >> 31;
    const std::int32_t q = clamp(((magnitude ^ sign) - sign) + zero_point, low, high);
    *output++ = static_cast<std::int8_t>(q);
    if (wide) *output++ = static_cast<std::int8_t>(q >> 8);
  }
}

}  // namespace cormorant::ops
