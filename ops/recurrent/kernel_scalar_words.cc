// SPDX-License-Identifier: Apache-2.0
//
// With 16-bit activations: the loops of kernel_scalar.cc.
#include "ops/recurrent/kernel.h"
#include "ops/recurrent/units.h"
#include "ops/recurrent/units_scalar.h"

namespace cormorant::ops::recurrent {
namespace {

struct ScalarWords {
  using Element = std::int16_t;
  static void copy(void* to, const void* from, std::uint32_t bytes) { __builtin_memmove(to, from, bytes); }

  [[gnu::always_inline]] static void multiply(const Row<std::int16_t>& row, std::uint32_t outputs) {
    const Geometry geometry{static_cast<Kind>(row.header.kind), Layout::scalar_words, row.header.inputs,
                            row.header.units, outputs};
    const std::byte* record = row.groups;
    for (std::uint32_t k = 0; k < geometry.blocks(); ++k) {
      const Block block = geometry.block(k);
      record = multiply_words(block, geometry.groups(block), record, row.vector + block.first, row.sums + block.out,
                              part_shift(row.header));
    }
  }

  static void narrow(const Row<std::int16_t>& row, const std::int16_t* h) {
    narrow_units<PlainSaturation, Kept>(row, h);
  }
  static void step(const Row<std::int16_t>& row, std::int16_t* states) {
    step_units<PlainSaturation, Kept>(row, states);
  }

  static void relu(const Row<std::int16_t>& row, std::int16_t* states) {
    finish_units<PlainSaturation, WideRelu>(row, row.sums, row.header.units, states);
  }
  static void cells(const Row<std::int16_t>& row) {
    cell_units<PlainSaturation, WideFunctions>(row.header, row.sums, row.kept);
  }
  static void project(const Geometry& words, const Block& block, const std::byte* record, const std::int16_t* from,
                      std::int16_t* to) {
    multiply_words(block, words.groups(block), record, from, to);
  }
  static void finish(const Row<std::int16_t>& row, const std::int16_t* from, std::uint32_t outputs,
                     std::int16_t* states) {
    finish_units<PlainSaturation, WideProjected>(row, from, outputs, states);
  }
};

void execute_words(const void* plan) { run<ScalarWords>(*static_cast<const Plan*>(plan)); }
void execute_words_relu(const void* plan) { run_relu<ScalarWords>(*static_cast<const Plan*>(plan)); }
void execute_words_projected(const void* plan) { run_projected<ScalarWords>(*static_cast<const Plan*>(plan)); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_RECURRENT_KERNELS, scalar_words)

}  // namespace cormorant::ops::recurrent
