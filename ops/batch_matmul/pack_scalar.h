// SPDX-License-Identifier: Apache-2.0
//
// What the forms without MVE share: the record before a block's columns, and rows in blocks.
#pragma once

#include "kernels/conv_gemm.h"
#include "ops/batch_matmul/kernel.h"

namespace cormorant::ops::batch_matmul {

// The right side's offset in two halves, each an int8.
struct Halves {
  std::int32_t first, second;
  explicit Halves(std::int32_t offset) : first(offset >> 1), second(offset - (offset >> 1)) {}
};

// Bias 0, multiplier and shifts of a block of columns; returns the address after it.
template <std::uint32_t kBlock>
std::uint8_t* put_record(std::uint8_t* to, const Plan& p) {
  auto* words = reinterpret_cast<std::int32_t*>(to);
  auto* shifts = reinterpret_cast<std::int8_t*>(words + 2 * kBlock);
  const auto right = static_cast<std::int8_t>(p.shift < 0 ? p.shift : 0);
  const auto left = static_cast<std::int8_t>(p.shift > 0 ? p.shift : 0);
  for (std::uint32_t i = 0; i < kBlock; ++i) {
    words[i] = 0;
    words[kBlock + i] = p.multiplier;
    shifts[i] = right;
    shifts[kBlock + i] = left;
  }
  return reinterpret_cast<std::uint8_t*>(shifts + (kBlock == 1 ? 4 : 2 * kBlock));
}

// Rows in blocks of N: compute(first row, distance in rows between the block's outputs). The last block overlaps the
// previous one; if there are fewer than N rows, each is computed N times and written to the same place.
template <std::uint32_t N, class Compute>
void for_row_blocks(std::uint32_t rows, Compute compute) {
  if (rows < N) {
    for (std::uint32_t row = 0; row < rows; ++row) compute(row, 0U);
    return;
  }
  for (std::uint32_t row = 0; row < rows; row += N) compute(row + N <= rows ? row : rows - N, 1U);
}

inline conv::Output output_of(const Plan& p) {
  return {p.output_offset, -128, 127, p.simple_requantize ? conv::Rounding::right : conv::Rounding::general};
}

}  // namespace cormorant::ops::batch_matmul
