// SPDX-License-Identifier: Apache-2.0
//
// Products of int16 without SIMD: with 16-bit activations, and of a projection. What weights stored + 128 add too much
// may leave 32 bits, as may sums on the way; the result does not, so all of it wraps.
#pragma once

#include "kernels/products_scalar.h"
#include "kernels/requantize.h"
#include "ops/recurrent/arithmetic.h"
#include "ops/recurrent/kernel.h"

namespace cormorant::ops::recurrent {

inline std::int32_t scale_word(std::int32_t sum, std::int32_t multiplier) {
  if constexpr (kHasLongMultiply) {
    return scale_word_sum(sum, multiplier);
  } else {
    return doubling_high_multiply_in_pieces(sum, multiplier >> 1);
  }
}

// The groups of one block; returns the next record. `shift` is for those that add to what `out` has: add_part().
[[gnu::always_inline]] inline const std::byte* multiply_words(const Block& block, std::uint32_t groups,
                                                              const std::byte* record, const std::int16_t* x,
                                                              std::int16_t* out, std::int32_t shift = 0) {
  const std::int16_t* const end = x + block.length;
  std::uint32_t excess = 0;
  for (const std::int16_t* value = x; value < end; ++value) excess += static_cast<std::uint32_t>(*value);
  excess *= 128;
  for (; groups > 0; --groups, out += 4) {
    const auto* const bias = reinterpret_cast<const std::uint32_t*>(record);
    ScalarProducts products{.sums = {},
                            .x = reinterpret_cast<const std::int8_t*>(x),
                            .weights = reinterpret_cast<const std::uint8_t*>(record + 16),
                            .end = reinterpret_cast<const std::int8_t*>(x + block.length / kScalarTaps * kScalarTaps)};
#pragma GCC unroll 4
    for (std::uint32_t n = 0; n < 4; ++n) products.sums[n] = static_cast<std::int32_t>(bias[n] - excess);
    if (products.x < products.end) cormorant_products_words_scalar(&products);
    for (const auto* value = reinterpret_cast<const std::int16_t*>(products.x); value < end; ++value) {
      for (std::uint32_t n = 0; n < 4; ++n) {
        products.sums[n] = static_cast<std::int32_t>(static_cast<std::uint32_t>(products.sums[n]) +
                                                     static_cast<std::uint32_t>(*value * *products.weights++));
      }
    }
    const auto* const multiplier = reinterpret_cast<const std::int32_t*>(products.weights);
#pragma GCC unroll 1
    for (std::uint32_t n = 0; n < 4; ++n) {
      const std::int32_t value = scale_word(products.sums[n], multiplier[n]);
      out[n] = static_cast<std::int16_t>(block.adds ? add_part<PlainSaturation>(out[n], value, shift)
                                                    : PlainSaturation::to_16(value));
    }
    record = reinterpret_cast<const std::byte*>(multiplier + 4);
  }
  return record;
}

}  // namespace cormorant::ops::recurrent
