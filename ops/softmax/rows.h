// SPDX-License-Identifier: Apache-2.0
//
// Softmax row by row, one value at a time, for any multiply: the specification as the reference instantiates it, and
// the kernel of CPUs without vectors. Exponentials are computed twice rather than kept: keeping them takes memory.
#pragma once

#include <algorithm>
#include <bit>

#include "ops/softmax/arithmetic.h"
#include "ops/softmax/kernel.h"

namespace cormorant::ops::softmax {

template <auto Multiply>
void softmax_rows(const Plan& p) {
  const auto exponential = [&](std::int32_t difference) {
    return exp_of_negative<Multiply>(exponent_of<Multiply>(difference, p.multiplier, p.shift));
  };
  const std::int8_t* input = p.input;
  std::int8_t* out = p.out;
  for (std::uint32_t row = 0; row < p.rows; ++row, input += p.row_size, out += p.row_size) {
    std::int32_t largest = -128;
    for (std::uint32_t i = 0; i < p.row_size; ++i) largest = std::max<std::int32_t>(largest, input[i]);

    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < p.row_size; ++i) {
      const std::int32_t difference = input[i] - largest;
      if (difference < p.diff_min) continue;
      sum += static_cast<std::uint32_t>(rounding_shift_right(exponential(difference), kSumBits));
    }

    const Normalizer normalizer = normalizer_of<Multiply>(sum, std::countl_zero(sum));
    for (std::uint32_t i = 0; i < p.row_size; ++i) {
      const std::int32_t difference = input[i] - largest;
      out[i] = difference < p.diff_min ? std::int8_t{-128} : normalize<Multiply>(exponential(difference), normalizer);
    }
  }
}

}  // namespace cormorant::ops::softmax
