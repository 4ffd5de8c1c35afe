// SPDX-License-Identifier: Apache-2.0
//
// With 16-bit activations: the loops of kernel_scalar.cc. What weights stored + 128 add too much may leave 32 bits, as
// may sums on the way; the result does not, so all of it wraps.
#include "kernels/products_scalar.h"
#include "kernels/requantize.h"
#include "ops/recurrent/kernel.h"
#include "ops/recurrent/units.h"

namespace cormorant::ops::recurrent {
namespace {

inline std::int32_t scale_sum(std::int32_t sum, std::int32_t multiplier) {
  if constexpr (kHasLongMultiply) {
    return scale_word_sum(sum, multiplier);
  } else {
    return doubling_high_multiply_in_pieces(sum, multiplier >> 1);
  }
}

// The groups of one block; returns the next record.
const std::byte* multiply_block(const Block& block, std::uint32_t groups, const std::byte* record,
                                const std::int16_t* x, std::int16_t* out, std::int32_t shift) {
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
      const std::int32_t value = scale_sum(products.sums[n], multiplier[n]);
      out[n] = static_cast<std::int16_t>(block.adds ? add_part<PlainSaturation>(out[n], value, shift)
                                                    : PlainSaturation::to_16(value));
    }
    record = reinterpret_cast<const std::byte*>(multiplier + 4);
  }
  return record;
}

struct ScalarWords {
  using Element = std::int16_t;
  static void copy(void* to, const void* from, std::uint32_t bytes) { __builtin_memmove(to, from, bytes); }

  static void multiply(const Row<std::int16_t>& row) {
    const Geometry geometry{static_cast<Kind>(row.header.kind), Layout::scalar_words, row.header.inputs,
                            row.header.units};
    const std::byte* record = row.groups;
    for (std::uint32_t k = 0; k < geometry.blocks(); ++k) {
      const Block block = geometry.block(k);
      record = multiply_block(block, geometry.groups(block), record, row.vector + block.first, row.sums + block.out,
                              part_shift(row.header));
    }
  }

  static void narrow(const Row<std::int16_t>& row, const std::int16_t* h) {
    narrow_units<PlainSaturation, Kept>(row, h);
  }
  static void step(const Row<std::int16_t>& row, std::int16_t* states) {
    step_units<PlainSaturation, Kept>(row, states);
  }
};

void execute_words(const void* plan) { run<ScalarWords>(*static_cast<const Plan*>(plan)); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_RECURRENT_KERNELS, scalar_words)

}  // namespace cormorant::ops::recurrent
