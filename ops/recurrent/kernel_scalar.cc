// SPDX-License-Identifier: Apache-2.0
//
// Four rows share each load of the vector; weights are unsigned bytes (ops/linear/linear.h says why).
#include "kernels/products_scalar.h"
#include "kernels/requantize.h"
#include "ops/recurrent/kernel.h"
#include "ops/recurrent/units.h"
#include "ops/recurrent/units_scalar.h"

namespace cormorant::ops::recurrent {
namespace {

inline std::int32_t scale_sum(std::int32_t sum, std::int32_t multiplier) {
  if constexpr (kHasLongMultiply) {
    return doubling_high_multiply(sum, multiplier);
  } else {
    return doubling_high_multiply_in_pieces(sum, multiplier);
  }
}

// The groups of one block; returns the next record.
[[gnu::always_inline]] inline const std::byte* multiply_block(const Block& block, std::uint32_t groups,
                                                              std::int32_t left, const std::byte* record,
                                                              const std::int8_t* x, std::int16_t* out) {
  const std::int8_t* const end = x + block.length;
  std::int32_t excess = 0;  // of weights stored + 128
  for (const std::int8_t* value = x; value < end; ++value) excess += 128 * *value;
  for (; groups > 0; --groups, out += 4) {
    const auto* const bias = reinterpret_cast<const std::int32_t*>(record);
    ScalarProducts products{.sums = {bias[0] - excess, bias[1] - excess, bias[2] - excess, bias[3] - excess},
                            .x = x,
                            .weights = reinterpret_cast<const std::uint8_t*>(record + 16),
                            .end = x + block.length / kScalarTaps * kScalarTaps};
    if (products.x < products.end) cormorant_products_scalar(&products);
    for (; products.x < end; ++products.x, products.weights += 4) {
      for (std::uint32_t n = 0; n < 4; ++n) products.sums[n] += *products.x * products.weights[n];
    }
    const auto* const multiplier = reinterpret_cast<const std::int32_t*>(products.weights);
#pragma GCC unroll 1
    for (std::uint32_t n = 0; n < 4; ++n) {
      out[n] = static_cast<std::int16_t>(
          PlainSaturation::to_16(scale_sum(shift_left(products.sums[n], left), multiplier[n])));
    }
    record = reinterpret_cast<const std::byte*>(multiplier + 4);
  }
  return record;
}

struct Scalar {
  using Element = std::int8_t;
  static void copy(void* to, const void* from, std::uint32_t bytes) { __builtin_memmove(to, from, bytes); }

  [[gnu::always_inline]] static void multiply(const Row<std::int8_t>& row, std::uint32_t outputs) {
    const Geometry geometry{static_cast<Kind>(row.header.kind), Layout::scalar, row.header.inputs, row.header.units,
                            outputs};
    const std::byte* record = row.groups;
    std::int16_t* out = row.sums;
    for (std::uint32_t k = 0; k < geometry.blocks(); ++k) {
      const Block block = geometry.block(k);
      record = multiply_block(block, geometry.groups(block), row.header.left, record, row.vector + block.first, out);
      out += block.rows;
    }
  }

  static void narrow(const Row<std::int8_t>& row, const std::int16_t* h) {
    narrow_units<PlainSaturation, Narrow>(row, h);
  }
  static void step(const Row<std::int8_t>& row, std::int8_t* states) {
    step_units<PlainSaturation, Narrow>(row, states);
  }

  static void relu(const Row<std::int8_t>& row, std::int8_t* states) {
    finish_units<PlainSaturation, Relu>(row, row.sums, row.header.units, states);
  }
  static void cells(const Row<std::int8_t>& row) {
    cell_units<PlainSaturation, Functions>(row.header, row.sums, row.kept);
  }
  static void project(const Geometry& words, const Block& block, const std::byte* record, const std::int16_t* from,
                      std::int16_t* to) {
    multiply_words(block, words.groups(block), record, from, to);
  }
  static void finish(const Row<std::int8_t>& row, const std::int16_t* from, std::uint32_t outputs,
                     std::int8_t* states) {
    finish_units<PlainSaturation, Projected>(row, from, outputs, states);
  }
};

void execute_recurrent(const void* plan) { run<Scalar>(*static_cast<const Plan*>(plan)); }
void execute_relu(const void* plan) { run_relu<Scalar>(*static_cast<const Plan*>(plan)); }
void execute_projected(const void* plan) { run_projected<Scalar>(*static_cast<const Plan*>(plan)); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_RECURRENT_KERNELS, scalar)

}  // namespace cormorant::ops::recurrent
