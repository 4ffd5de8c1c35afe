// SPDX-License-Identifier: Apache-2.0
//
// With 16-bit activations: the vector is pairs as it is, SXTB16 extracts those of the weights, SMMULR scales the sums.
#include "ops/recurrent/kernel.h"
#include "ops/recurrent/units.h"
#include "ops/recurrent/units_dsp.h"

namespace cormorant::ops::recurrent {
namespace {

struct DspWords {
  using Element = std::int16_t;
  static void copy(void* to, const void* from, std::uint32_t bytes) { __builtin_memmove(to, from, bytes); }

  [[gnu::always_inline]] static void multiply(const Row<std::int16_t>& row, std::uint32_t outputs) {
    const Geometry geometry{static_cast<Kind>(row.header.kind), Layout::dsp_words, row.header.inputs, row.header.units,
                            outputs};
    const std::byte* record = row.groups;
    const std::int32_t shift = part_shift(row.header);
    for (std::uint32_t k = 0; k < geometry.blocks(); ++k) {
      const Block block = geometry.block(k);
      record =
          multiply_words(block, geometry.groups(block), record, row.vector + block.first, row.sums + block.out, shift);
    }
  }

  static void narrow(const Row<std::int16_t>& row, const std::int16_t* h) {
    narrow_units<SaturateInstruction, Kept>(row, h);
  }
  static void step(const Row<std::int16_t>& row, std::int16_t* states) {
    step_units<SaturateInstruction, Kept>(row, states);
  }

  static void relu(const Row<std::int16_t>& row, std::int16_t* states) {
    finish_units<SaturateInstruction, WideRelu>(row, row.sums, row.header.units, states);
  }
  static void cells(const Row<std::int16_t>& row) {
    cell_units<SaturateInstruction, WideFunctions>(row.header, row.sums, row.kept);
  }
  static void project(const Geometry& words, const Block& block, const std::byte* record, const std::int16_t* from,
                      std::int16_t* to) {
    multiply_words(block, words.groups(block), record, from, to);
  }
  static void finish(const Row<std::int16_t>& row, const std::int16_t* from, std::uint32_t outputs,
                     std::int16_t* states) {
    finish_units<SaturateInstruction, WideProjected>(row, from, outputs, states);
  }
};

void execute_words(const void* plan) { run<DspWords>(*static_cast<const Plan*>(plan)); }
void execute_words_relu(const void* plan) { run_relu<DspWords>(*static_cast<const Plan*>(plan)); }
void execute_words_projected(const void* plan) { run_projected<DspWords>(*static_cast<const Plan*>(plan)); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_RECURRENT_KERNELS, dsp_words)

}  // namespace cormorant::ops::recurrent
