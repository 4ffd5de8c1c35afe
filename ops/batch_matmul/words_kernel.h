// SPDX-License-Identifier: Apache-2.0
//
// The plan of a product of 16-bit activations, and its blocks of results.
#pragma once

#include "ops/batch_matmul/batch_matmul.h"
#include "runtime/kernel.h"

namespace cormorant::ops::batch_matmul {

struct WordsPlan {
  static constexpr std::uint32_t kStateBytes = 32;
  const std::int16_t* lhs;
  const std::int16_t* rhs;  // transposed
  std::int16_t* out;
  Size size;
  std::uint32_t batches;
  std::int16_t multiplier;
  std::uint8_t shift;
  bool one_lhs;  // serves every batch
};

Error load_words(Call& call);

// Calls block(plan, lhs, rhs, out, second) for blocks of kRows rows and kColumns columns: it writes the first row's
// results from `out` on, the second's from `second` on. The last block overlaps the previous one, so that all are
// whole; if there are too few rows or columns, single(plan, lhs, rhs) computes one result.
template <std::uint32_t kRows, std::uint32_t kColumns, class Block, class Single>
void multiply_words(const WordsPlan& plan, Block block, Single single) {
  const WordsPlan p = plan;  // in registers: a store to out could otherwise change it
  const std::uint32_t inner = p.size.inner;
  const std::int16_t* lhs = p.lhs;
  const std::int16_t* rhs = p.rhs;
  std::int16_t* out = p.out;
  for (std::uint32_t batch = p.batches; batch > 0; --batch) {
    if (p.size.rows < kRows || p.size.columns < kColumns) {
      std::int16_t* to = out;
      for (std::uint32_t row = 0; row < p.size.rows; ++row) {
        for (std::uint32_t column = 0; column < p.size.columns; ++column) {
          *to++ = single(p, lhs + row * inner, rhs + column * inner);
        }
      }
    } else {
      for (std::uint32_t next = 0; next < p.size.rows; next += kRows) {
        const std::uint32_t row = next + kRows <= p.size.rows ? next : p.size.rows - kRows;
        for (std::uint32_t from = 0; from < p.size.columns; from += kColumns) {
          const std::uint32_t column = from + kColumns <= p.size.columns ? from : p.size.columns - kColumns;
          std::int16_t* const to = out + row * p.size.columns + column;
          block(p, lhs + row * inner, rhs + column * inner, to, to + p.size.columns);
        }
      }
    }
    if (!p.one_lhs) lhs += p.size.rows * inner;
    rhs += p.size.columns * inner;
    out += p.size.rows * p.size.columns;
  }
}

}  // namespace cormorant::ops::batch_matmul
