// SPDX-License-Identifier: Apache-2.0
//
// SMLALD adds two products to a 64-bit sum. Two rows with one column, which is what fits the registers.
#include <arm_acle.h>

#include <cstring>

#include "ops/batch_matmul/words_kernel.h"

namespace cormorant::ops::batch_matmul {
namespace {

inline std::int32_t load_pair(const std::int16_t* from) {
  std::int32_t pair;
  std::memcpy(&pair, from, sizeof(pair));  // may be unaligned, which LDR allows
  return pair;
}

template <std::uint32_t kRows>
[[gnu::always_inline]] inline void add_up(const WordsPlan& p, const std::int16_t* lhs, const std::int16_t* rhs,
                                          std::int64_t (&sums)[kRows]) {
  const std::uint32_t inner = p.size.inner;
  const std::int16_t* rows[kRows];
  for (std::uint32_t row = 0; row < kRows; ++row) rows[row] = lhs + row * inner;
  std::uint32_t left = inner;
  for (; left >= 4; left -= 4, rhs += 4) {
    const std::int32_t first = load_pair(rhs);
    const std::int32_t second = load_pair(rhs + 2);
    for (std::uint32_t row = 0; row < kRows; ++row) {
      sums[row] = __smlald(load_pair(rows[row]), first, sums[row]);
      sums[row] = __smlald(load_pair(rows[row] + 2), second, sums[row]);
      rows[row] += 4;
    }
  }
  for (; left > 0; --left, ++rhs) {
    for (std::uint32_t row = 0; row < kRows; ++row) sums[row] += std::int32_t{*rows[row]++} * *rhs;
  }
}

std::int16_t product(const WordsPlan& p, const std::int16_t* lhs, const std::int16_t* rhs) {
  std::int64_t sums[1] = {};
  add_up<1>(p, lhs, rhs, sums);
  return rescaled_word(sums[0], p.multiplier, p.shift);
}

void two_products(const WordsPlan& p, const std::int16_t* lhs, const std::int16_t* rhs, std::int16_t* out,
                  std::int16_t* second) {
  std::int64_t sums[2] = {};
  add_up<2>(p, lhs, rhs, sums);
  *out = rescaled_word(sums[0], p.multiplier, p.shift);
  *second = rescaled_word(sums[1], p.multiplier, p.shift);
}

void execute_words(const void* raw) {
  multiply_words<2, 1>(*static_cast<const WordsPlan*>(raw), two_products, product);
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_BATCH_MATMUL_KERNELS, dsp_words)

}  // namespace cormorant::ops::batch_matmul
