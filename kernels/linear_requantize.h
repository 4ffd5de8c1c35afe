// SPDX-License-Identifier: Apache-2.0
//
// Requantization under the two conditions that the compiler proves for nearly every linear layer: the accumulator's
// magnitude is below 2^30, and the shift is to the right by 1 … 31. Then the accumulator can be doubled, and a negative
// number, whose ties round down, is lowered by one before the shift without checking whether there is a shift.
#pragma once

#include "base/fixed_point.h"
#include "kernels/requantize.h"

namespace cormorant {

constexpr std::int32_t simple_doubling_high_multiply(std::int32_t value, std::int32_t multiplier) {
  if constexpr (kHasLongMultiply) {
    // A file may ask for a shift that leaves more than 30 bits: wrong numbers, but defined.
    const auto doubled = static_cast<std::int32_t>(static_cast<std::uint32_t>(value) * 2);
    const std::int64_t product = std::int64_t{doubled} * multiplier;
    return static_cast<std::int32_t>(product >> 32) +
           static_cast<std::int32_t>(static_cast<std::uint32_t>(product) >> 31);
  } else {
    return doubling_high_multiply_in_pieces(value, multiplier);
  }
}

// shift in [-31, -1], as in a Multiplier.
constexpr std::int32_t simple_rounding_shift(std::int32_t value, std::int32_t shift) {
  const std::int32_t lowered = value + (value >> 31);
  return ((lowered >> ~shift) + 1) >> 1;
}

constexpr std::int32_t requantize_simply(std::int32_t value, std::int32_t multiplier, std::int32_t shift) {
  return simple_rounding_shift(simple_doubling_high_multiply(value, multiplier), shift);
}

}  // namespace cormorant
