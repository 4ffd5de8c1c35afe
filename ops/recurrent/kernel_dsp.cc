// SPDX-License-Identifier: Apache-2.0
//
// Products by SMLAD, four rows at a time; the vector is read in words, whose surplus is multiplied by weights of zero.
#include "kernels/products_dsp.h"
#include "ops/recurrent/kernel.h"
#include "ops/recurrent/units.h"
#include "ops/recurrent/units_dsp.h"

namespace cormorant::ops::recurrent {
namespace {

// How a group's weights are arranged, and what its sums then mean.
struct Pairs {
  static void accumulate(DspProducts& products) { cormorant_products_pairs_dsp(&products); }
  static void separate(std::int32_t (&sums)[4]) {
    sums[1] = (sums[1] - sums[0]) >> 8;
    sums[3] = (sums[3] - sums[2]) >> 8;
  }
};
struct Wide {
  static void accumulate(DspProducts& products) { cormorant_products_wide_dsp(&products); }
  static void separate(std::int32_t (& /*sums*/)[4]) {}
};

// The groups of one block; returns the next record.
template <class Weights>
[[gnu::always_inline]] inline const std::byte* multiply_block(std::uint32_t words, std::uint32_t groups,
                                                              std::uint32_t left, const std::byte* record,
                                                              const std::int8_t* x, std::int16_t* out) {
  for (; groups > 0; --groups, out += 4) {
    const auto* const bias = reinterpret_cast<const std::int32_t*>(record);
    DspProducts products{{0, 0, 0, 0}, x, reinterpret_cast<const std::uint32_t*>(record + 16), words};
    Weights::accumulate(products);
    Weights::separate(products.sums);
    const auto* const multiplier = reinterpret_cast<const std::int32_t*>(products.weights);
#pragma GCC unroll 4
    for (std::uint32_t n = 0; n < 4; ++n) {
      // The compiler has proved that no sum reaches 2^30 >> left, so the sum can be doubled.
      const std::int32_t scaled = multiply_round((products.sums[n] + bias[n]) << left, multiplier[n]);
      out[n] = static_cast<std::int16_t>(SaturateInstruction::to_16(scaled));
    }
    record = reinterpret_cast<const std::byte*>(multiplier + 4);
  }
  return record;
}

template <class Weights>
struct Dsp {
  using Element = std::int8_t;
  static void copy(void* to, const void* from, std::uint32_t bytes) { __builtin_memmove(to, from, bytes); }

  [[gnu::always_inline]] static void multiply(const Row<std::int8_t>& row, std::uint32_t outputs) {
    const Geometry geometry{static_cast<Kind>(row.header.kind), Layout::dsp_pairs, row.header.inputs, row.header.units,
                            outputs};
    const std::byte* record = row.groups;
    std::int16_t* out = row.sums;
    for (std::uint32_t k = 0; k < geometry.blocks(); ++k) {
      const Block block = geometry.block(k);
      record = multiply_block<Weights>((block.length + 3) / 4, geometry.groups(block), row.header.left + 1U, record,
                                       row.vector + block.first, out);
      out += block.rows;
    }
  }

  static void narrow(const Row<std::int8_t>& row, const std::int16_t* h) {
    narrow_units<SaturateInstruction, Narrow>(row, h);
  }
  static void step(const Row<std::int8_t>& row, std::int8_t* states) {
    step_units<SaturateInstruction, Narrow>(row, states);
  }

  static void relu(const Row<std::int8_t>& row, std::int8_t* states) {
    finish_units<SaturateInstruction, Relu>(row, row.sums, row.header.units, states);
  }
  static void cells(const Row<std::int8_t>& row) {
    cell_units<SaturateInstruction, Functions>(row.header, row.sums, row.kept);
  }
  static void project(const Geometry& words, const Block& block, const std::byte* record, const std::int16_t* from,
                      std::int16_t* to) {
    multiply_words(block, words.groups(block), record, from, to);
  }
  static void finish(const Row<std::int8_t>& row, const std::int16_t* from, std::uint32_t outputs,
                     std::int8_t* states) {
    finish_units<SaturateInstruction, Projected>(row, from, outputs, states);
  }
};

template <class Weights>
void execute_with(const void* plan) {
  run<Dsp<Weights>>(*static_cast<const Plan*>(plan));
}
template <class Weights>
void execute_relu_with(const void* plan) {
  run_relu<Dsp<Weights>>(*static_cast<const Plan*>(plan));
}
template <class Weights>
void execute_projected_with(const void* plan) {
  run_projected<Dsp<Weights>>(*static_cast<const Plan*>(plan));
}

}  // namespace

constexpr auto* execute_pairs = execute_with<Pairs>;
constexpr auto* execute_wide = execute_with<Wide>;
constexpr auto* execute_pairs_relu = execute_relu_with<Pairs>;
constexpr auto* execute_wide_relu = execute_relu_with<Wide>;
constexpr auto* execute_pairs_projected = execute_projected_with<Pairs>;
constexpr auto* execute_wide_projected = execute_projected_with<Wide>;
CORMORANT_KERNELS(CORMORANT_RECURRENT_KERNELS, dsp)

}  // namespace cormorant::ops::recurrent
