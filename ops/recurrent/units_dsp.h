// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of recurrent layers by instructions of the DSP extension.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/products_dsp.h"
#include "ops/recurrent/arithmetic.h"
#include "ops/recurrent/kernel.h"

namespace cormorant::ops::recurrent {

// The upper half of the product, rounded.
inline std::int32_t multiply_round(std::int32_t sum, std::int32_t multiplier) {
  std::int32_t scaled;
  asm("smmulr %0, %1, %2" : "=r"(scaled) : "r"(sum), "r"(multiplier));
  return scaled;
}

// In assembly, since gcc 12 refuses __ssat in some archives.
struct SaturateInstruction {
  static std::int32_t to_16(std::int32_t value) {
    asm("ssat %0, #16, %0" : "+r"(value));
    return value;
  }
  static std::int32_t to_8(std::int32_t value) {
    asm("ssat %0, #8, %0" : "+r"(value));
    return value;
  }
};

// Products of int16 with the groups of one block, whose words of weights SXTB16 widens; returns the next record.
// `shift` is for those that add to what `out` has: add_part().
[[gnu::always_inline]] inline const std::byte* multiply_words(const Block& block, std::uint32_t groups,
                                                              const std::byte* record, const std::int16_t* x,
                                                              std::int16_t* out, std::int32_t shift = 0) {
  for (; groups > 0; --groups, out += 4) {
    const auto* const bias = reinterpret_cast<const std::int32_t*>(record);
    DspProducts products{{bias[0], bias[1], bias[2], bias[3]},
                         reinterpret_cast<const std::int8_t*>(x),
                         reinterpret_cast<const std::uint32_t*>(record + 16),
                         (block.length + 3) / 4};
    cormorant_products_words_dsp(&products);
    const auto* const multiplier = reinterpret_cast<const std::int32_t*>(products.weights);
#pragma GCC unroll 4
    for (std::uint32_t n = 0; n < 4; ++n) {
      const std::int32_t value = multiply_round(products.sums[n], multiplier[n]);
      out[n] = static_cast<std::int16_t>(block.adds ? add_part<SaturateInstruction>(out[n], value, shift)
                                                    : SaturateInstruction::to_16(value));
    }
    record = reinterpret_cast<const std::byte*>(multiplier + 4);
  }
  return record;
}

}  // namespace cormorant::ops::recurrent
