// SPDX-License-Identifier: Apache-2.0
//
// With 16-bit activations: the vector is pairs as it is, SXTB16 extracts those of the weights, SMMULR scales the sums.
#include "kernels/products_dsp.h"
#include "ops/recurrent/kernel.h"
#include "ops/recurrent/units.h"
#include "ops/recurrent/units_dsp.h"

namespace cormorant::ops::recurrent {
namespace {

struct DspWords {
  using Element = std::int16_t;
  static void copy(void* to, const void* from, std::uint32_t bytes) { __builtin_memmove(to, from, bytes); }

  static void multiply(const Row<std::int16_t>& row) {
    const Geometry geometry{static_cast<Kind>(row.header.kind), Layout::dsp_words, row.header.inputs, row.header.units};
    const std::byte* record = row.groups;
    const std::int32_t shift = part_shift(row.header);
    for (std::uint32_t k = 0; k < geometry.blocks(); ++k) {
      const Block block = geometry.block(k);
      std::int16_t* out = row.sums + block.out;
      for (std::uint32_t groups = geometry.groups(block); groups > 0; --groups, out += 4) {
        const auto* const bias = reinterpret_cast<const std::int32_t*>(record);
        DspProducts products{{bias[0], bias[1], bias[2], bias[3]},
                             reinterpret_cast<const std::int8_t*>(row.vector + block.first),
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
    }
  }

  static void narrow(const Row<std::int16_t>& row, const std::int16_t* h) {
    narrow_units<SaturateInstruction, Kept>(row, h);
  }
  static void step(const Row<std::int16_t>& row, std::int16_t* states) {
    step_units<SaturateInstruction, Kept>(row, states);
  }
};

void execute_words(const void* plan) { run<DspWords>(*static_cast<const Plan*>(plan)); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_RECURRENT_KERNELS, dsp_words)

}  // namespace cormorant::ops::recurrent
