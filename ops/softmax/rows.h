// SPDX-License-Identifier: Apache-2.0
//
// Softmax and its logarithm row by row, one value at a time, for any multiply: the specification as the reference
// instantiates it, and the kernel for CPUs without vectors. Exponentials are computed twice, since keeping them would
// take memory.
#pragma once

#include <algorithm>
#include <bit>

#include "ops/softmax/arithmetic.h"
#include "ops/softmax/kernel.h"

namespace cormorant::ops::softmax {

// Calls visit(offset of the row's first element) for every row.
template <class AnyPlan, class Visit>
void for_rows(const AnyPlan& p, Visit visit) {
  std::uint32_t block = 0;
  for (std::uint32_t outer = 0; outer < p.outer; ++outer, block += p.row_size * p.inner) {
    for (std::uint32_t inner = 0; inner < p.inner; ++inner) visit(block + inner);
  }
}

template <class AnyPlan>
std::int32_t largest_of(const AnyPlan& p, const std::int8_t* row) {
  std::int32_t largest = -128;
  const std::uint32_t step = p.inner;
  for (std::uint32_t i = p.row_size; i > 0; --i, row += step) largest = std::max<std::int32_t>(largest, *row);
  return largest;
}

template <auto Multiply>
std::int32_t exponential(const Plan& p, std::int32_t difference) {
  return exp_of_negative<Multiply>(exponent_of<Multiply>(difference, p.multiplier, p.shift));
}

// Q12.19, of what is not too far below the largest.
template <auto Multiply>
std::uint32_t sum_of_exponentials(const Plan& p, const std::int8_t* row, std::int32_t largest) {
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < p.row_size; ++i, row += p.inner) {
    const std::int32_t difference = *row - largest;
    if (difference < p.diff_min) continue;
    sum += static_cast<std::uint32_t>(rounding_shift_right(exponential<Multiply>(p, difference), kSumBits));
  }
  return sum;
}

template <auto Multiply>
void softmax_rows(const Plan& p) {
  for_rows(p, [&](std::uint32_t at) {
    const std::int8_t* row = p.input + at;
    std::int8_t* out = p.out + at;
    const std::int32_t largest = largest_of(p, row);
    const std::uint32_t sum = sum_of_exponentials<Multiply>(p, row, largest);
    const Normalizer normalizer = normalizer_of<Multiply>(sum, std::countl_zero(sum));
    for (std::uint32_t i = 0; i < p.row_size; ++i, row += p.inner, out += p.inner) {
      const std::int32_t difference = *row - largest;
      *out = difference < p.diff_min ? std::int8_t{-128}
                                     : normalize<Multiply>(exponential<Multiply>(p, difference), normalizer);
    }
  });
}

// With the exponentials from a table. The index is a byte whatever the data are. No number here is negative, so
// rounding ties up is right; a shift beyond 31 leaves less than a half. (As far as a compiler knows, stored bytes could
// be the plan's: what loops need is copied.)
template <auto Multiply>
void table_softmax_rows(const TablePlan& p) {
  const std::int32_t* const exponentials = p.exponentials;
  const std::uint32_t step = p.inner;
  const std::uint32_t size = p.row_size;
  const std::uint32_t halvings = p.halvings;
  for_rows(p, [&](std::uint32_t at) {
    const std::int8_t* row = p.input + at;
    std::int8_t* out = p.out + at;
    const std::int32_t largest = largest_of(p, row);
    const auto exponential_of = [=](std::int8_t x) { return exponentials[static_cast<std::uint8_t>(largest - x)]; };
    std::uint32_t sum = 0;
    const std::int8_t* from = row;
    for (std::uint32_t i = size; i > 0; --i, from += step) {
      sum += (static_cast<std::uint32_t>(exponential_of(*from)) + (1U << (kSumBits - 1))) >> kSumBits;
    }
    sum = std::max(sum, kLeastSum);
    const Normalizer by = normalizer_of<Multiply>(sum, std::countl_zero(sum), halvings);
    const std::uint32_t half = by.shift > 31 ? 0 : 1U << (by.shift - 1);
    const std::int32_t shift = by.shift > 31 ? 31 : by.shift;
    const std::int32_t scale = by.shift > 31 ? 0 : by.scale;
    for (std::uint32_t i = size; i > 0; --i, row += step, out += step) {
      const auto share = static_cast<std::uint32_t>(Multiply(exponential_of(*row), scale));
      const auto level = static_cast<std::int32_t>((share + half) >> shift) - 128;
      *out = static_cast<std::int8_t>(level > 127 ? 127 : level);
    }
  });
}

template <auto Multiply>
void log_softmax_rows(const LogPlan& plan) {
  const Plan& p = plan.rows;
  for_rows(p, [&](std::uint32_t at) {
    const std::int8_t* row = p.input + at;
    std::int8_t* out = p.out + at;
    const std::int32_t largest = largest_of(p, row);
    const std::uint32_t sum = sum_of_exponentials<Multiply>(p, row, largest);
    const std::int32_t start = plan.term - log_of_sum<Multiply>(sum, plan.log_multiplier, plan.log_shift);
    for (std::uint32_t i = 0; i < p.row_size; ++i, row += p.inner, out += p.inner) {
      const std::int32_t level = ((*row - largest) * plan.factor + start) >> plan.shift;
      *out = static_cast<std::int8_t>(clamp(level, -128, 127));
    }
  });
}

}  // namespace cormorant::ops::softmax
