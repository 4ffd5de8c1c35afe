// SPDX-License-Identifier: Apache-2.0
//
// base/fixed_point.h's requantization for kernels that run on CPUs with and without a 32 × 32 → 64 multiply. ARMv6-M
// and ARMv8-M Baseline have none: there a plain 64-bit product is a library call of some 50 instructions, while the
// high half alone, from 16-bit pieces, takes under 20.
#pragma once

#include <cstdint>

#include "base/fixed_point.h"

namespace cormorant {

#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB < 2
inline constexpr bool kHasLongMultiply = false;
#else
inline constexpr bool kHasLongMultiply = true;
#endif

// doubling_high_multiply without a product wider than 32 bits. With value = vh · 2^16 + vl and multiplier = mh · 2^16 +
// ml, the product's bits 30 … 61 are assembled from the bottom; no partial sum overflows: |vh · ml| <= 2^15 · (2^16 −
// 1), |vl · mh| <= (2^16 − 1) · 2^15, and each is followed by an addend below 2^16.
constexpr std::int32_t doubling_high_multiply_in_pieces(std::int32_t value, std::int32_t multiplier) {
  const std::int32_t vh = value >> 16;
  const std::uint32_t vl = static_cast<std::uint32_t>(value) & 0xffffU;
  const std::int32_t mh = multiplier >> 16;
  const std::uint32_t ml = static_cast<std::uint32_t>(multiplier) & 0xffffU;
  const std::int32_t cross = vh * static_cast<std::int32_t>(ml) + static_cast<std::int32_t>((vl * ml) >> 16);
  const std::int32_t middle =
      static_cast<std::int32_t>(vl) * mh + static_cast<std::int32_t>(static_cast<std::uint32_t>(cross) & 0xffffU);
  const std::int32_t high = vh * mh + (cross >> 16) + (middle >> 16);
  const std::uint32_t below = (static_cast<std::uint32_t>(middle) >> 14) &
                              3U;  // the product's bits 31 and 30: the last kept and the rounding one
  return static_cast<std::int32_t>((static_cast<std::uint32_t>(high) << 1) + ((below + 1) >> 1));
}

// cormorant::requantize, bit for bit.
constexpr std::int32_t requantize_for_cpu(std::int32_t value, std::int32_t multiplier, std::int32_t shift) {
  if constexpr (kHasLongMultiply) {
    return requantize(value, multiplier, shift);
  } else {
    const std::int32_t left = shift > 0 ? shift : 0;
    const std::int32_t right = shift > 0 ? 0 : -shift;
    return rounding_shift_right(doubling_high_multiply_in_pieces(shift_left(value, left), multiplier), right);
  }
}

// The same with another multiplier for numbers that are below zero when they are multiplied: a PReLU after the sum.
constexpr std::int32_t requantize_by_sign(std::int32_t value, std::int32_t multiplier, std::int32_t negative_multiplier,
                                          std::int32_t shift) {
  const bool is_negative = shift_left(value, shift > 0 ? shift : 0) < 0;
  return requantize_for_cpu(value, is_negative ? negative_multiplier : multiplier, shift);
}

}  // namespace cormorant
