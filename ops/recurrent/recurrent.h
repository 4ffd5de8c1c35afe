// SPDX-License-Identifier: Apache-2.0
//
// One recurrent layer in one direction over a sequence: LSTM, GRU or RNN. The contract between compiler and kernels:
// the signatures, the layout of the packed constant, the scratch.
//
// A step multiplies the vector [input | h] by one matrix, in blocks of rows that need the same part of it. With 8-bit
// activations h is int8 there, so that a step is as many int8 products as a linear layer; what is kept from step to
// step (an LSTM's c, else h itself) has 16 bits in any case. arithmetic.h says what follows the sums.
//
// The packed constant is a header and one record per group of rows, in the order in which the inner loop reads it:
//   bias[G] int32, weights (G · padded length) int8 or int16, multiplier[G] int32
// The bias has both biases and `−zero point · Σ weights` folded in. The last group of a block is padded with zeros; its
// surplus results are overwritten or not read.
//
// Two forms keep h in the integers of the states that the layer returns, and in nothing finer: an RNN with relu, whose
// sums are those integers but for kReluBits, and an LSTM with a projection, h = W · (o · tanh c), a second product per
// step, which multiplies 16 bits whatever the activations have. Kernels for them are apart from the others.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/fields.h"
#include "base/overlap.h"
#include "ops/load/kernel_list.h"
#include "target/target.h"

#define CORMORANT_RECURRENT_KERNELS(OURS, THEIRS, FOREIGN)                                                             \
  OURS(recurrent, scalar, scalar, load_scalar, execute_recurrent, w8a8, Recurrent)                                     \
  OURS(recurrent, dsp_pairs, dsp, load_dsp_pairs, execute_pairs, w8a8, Recurrent)                                      \
  OURS(recurrent, dsp_wide, dsp, load_dsp_wide, execute_wide, w8a8, Recurrent)                                         \
  OURS(recurrent, mve, mve, load_mve, execute_recurrent, w8a8, Recurrent)                                              \
  OURS(recurrent, scalar_words, scalar_words, load_scalar_words, execute_words, w8a16, Recurrent)                      \
  OURS(recurrent, dsp_words, dsp_words, load_dsp_words, execute_words, w8a16, Recurrent)                               \
  OURS(recurrent, mve_words, mve_words, load_mve_words, execute_words, w8a16, Recurrent)                               \
  OURS(recurrent, scalar_relu, scalar, load_relu<Layout::scalar>, execute_relu, w8a8, ReluRecurrent)                   \
  OURS(recurrent, dsp_pairs_relu, dsp, load_relu<Layout::dsp_pairs>, execute_pairs_relu, w8a8, ReluRecurrent)          \
  OURS(recurrent, dsp_wide_relu, dsp, load_relu<Layout::dsp_wide>, execute_wide_relu, w8a8, ReluRecurrent)             \
  OURS(recurrent, mve_relu, mve, load_relu<Layout::mve>, execute_relu, w8a8, ReluRecurrent)                            \
  OURS(recurrent, scalar_words_relu, scalar_words, load_relu<Layout::scalar_words>, execute_words_relu, w8a16,         \
       ReluRecurrent)                                                                                                  \
  OURS(recurrent, dsp_words_relu, dsp_words, load_relu<Layout::dsp_words>, execute_words_relu, w8a16, ReluRecurrent)   \
  OURS(recurrent, mve_words_relu, mve_words, load_relu<Layout::mve_words>, execute_words_relu, w8a16, ReluRecurrent)   \
  OURS(recurrent, scalar_projected, scalar, load_projected<Layout::scalar>, execute_projected, w8a8, Recurrent)        \
  OURS(recurrent, dsp_pairs_projected, dsp, load_projected<Layout::dsp_pairs>, execute_pairs_projected, w8a8,          \
       Recurrent)                                                                                                      \
  OURS(recurrent, dsp_wide_projected, dsp, load_projected<Layout::dsp_wide>, execute_wide_projected, w8a8, Recurrent)  \
  OURS(recurrent, mve_projected, mve, load_projected<Layout::mve>, execute_projected, w8a8, Recurrent)                 \
  OURS(recurrent, scalar_words_projected, scalar_words, load_projected<Layout::scalar_words>, execute_words_projected, \
       w8a16, Recurrent)                                                                                               \
  OURS(recurrent, dsp_words_projected, dsp_words, load_projected<Layout::dsp_words>, execute_words_projected, w8a16,   \
       Recurrent)                                                                                                      \
  OURS(recurrent, mve_words_projected, mve_words, load_projected<Layout::mve_words>, execute_words_projected, w8a16,   \
       Recurrent)                                                                                                      \
  OURS(recurrent, float, any_cpu, load_float, execute_float, f32, FloatRecurrent)                                      \
  OURS(recurrent, float_relu, any_cpu, load_float_relu, execute_float_relu, f32, FloatReluRecurrent)                   \
  OURS(recurrent, float_projected, any_cpu, load_float_projected, execute_float_projected, f32, FloatRecurrent)
CORMORANT_NAMES(CORMORANT_RECURRENT_KERNELS)

namespace cormorant::ops::recurrent {

enum class Kind : std::uint8_t { lstm = 0, gru = 1, rnn = 2, rnn_relu = 3 };

// Rows of the weights per unit, in PyTorch's order: i f g o; r z n; one.
constexpr std::uint32_t gates_of(Kind kind) { return kind == Kind::lstm ? 4 : kind == Kind::gru ? 3 : 1; }
// Sums per unit. A GRU's n multiplies the part from h by r before it adds the part from the input.
constexpr std::uint32_t sums_of(Kind kind) { return kind >= Kind::rnn ? 1 : 4; }

// input [steps, batch, inputs] int8, h and c [batch, units] (none: zeros), states [steps, batch, units] int8: h of
// every step. LSTM: h int8 with the states' parameters, c and last (c after the last step) int16. Otherwise h and last
// (h after the last step) are int16, and there is no c. With 16-bit activations input, states and every h are int16, h
// with 15 fractional bits. With a projection h has the type and parameters of the states, and as many elements; c and
// last have one per unit.
template <class W>
struct Recurrent {
  static constexpr Overlap kOverlap = Overlap::in_place;  // last on c or h, and states on h for one step: see load
  typename W::Tensor input{};
  typename W::OptionalTensor h{};
  typename W::OptionalTensor c{};
  typename W::Tensor packed{};
  typename W::Scratch scratch{};
  typename W::Out states{};
  typename W::Out last{};

  CORMORANT_FIELDS(input, h, c, packed, scratch, states, last)
};

// An RNN with relu: the same without c.
template <class W>
struct ReluRecurrent {
  static constexpr Overlap kOverlap = Overlap::in_place;  // states on h for one step
  typename W::Tensor input{};
  typename W::OptionalTensor h{};
  typename W::Tensor packed{};
  typename W::Scratch scratch{};
  typename W::Out states{};

  CORMORANT_FIELDS(input, h, packed, scratch, states)
};

// The same in float. `packed` has a row per gate and unit: weights of the input, weights of h, both biases.
// A projection's rows follow; then `kind` is that of an LSTM.
template <class W>
struct FloatRecurrent {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor input{};
  typename W::OptionalTensor h{};
  typename W::OptionalTensor c{};
  typename W::Tensor packed{};
  typename W::Int kind{};
  typename W::Bool backwards{};
  typename W::Scratch scratch{};
  typename W::Out states{};
  typename W::Out last{};

  CORMORANT_FIELDS(input, h, c, packed, kind, backwards, scratch, states, last)
};

template <class W>
struct FloatReluRecurrent {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor input{};
  typename W::OptionalTensor h{};
  typename W::Tensor packed{};
  typename W::Bool backwards{};
  typename W::Scratch scratch{};
  typename W::Out states{};

  CORMORANT_FIELDS(input, h, packed, backwards, scratch, states)
};

// How a group's weights are interleaved: like those of ops/linear, whose header explains them.
// Those for 16-bit activations: scalar_words is as scalar; in a word of dsp_words are two rows' weights of two
// elements, each row's where SXTB16 extracts them; mve_words has eight elements of a row where mve has 16.
enum class Layout : std::uint8_t {
  scalar = 0,
  dsp_pairs = 1,
  dsp_wide = 2,
  mve = 3,
  scalar_words = 4,
  dsp_words = 5,
  mve_words = 6
};

constexpr std::uint32_t group_of(Layout layout) { return layout == Layout::mve || layout == Layout::mve_words ? 8 : 4; }
constexpr std::uint32_t weight_bytes_of(Layout layout) { return layout == Layout::dsp_wide ? 2 : 1; }
constexpr bool multiplies_words(Layout layout) { return layout >= Layout::scalar_words; }
// The layout for 16 bits on the same instruction set, which a projection has.
constexpr Layout words_layout(Layout layout) {
  if (layout == Layout::scalar) return Layout::scalar_words;
  if (layout == Layout::dsp_pairs || layout == Layout::dsp_wide) return Layout::dsp_words;
  return layout == Layout::mve ? Layout::mve_words : layout;
}
// The elements of the vector that a loop reads at once, beyond its end if need be: weights there are zero.
constexpr bool reads_fours(Layout layout) {
  return layout == Layout::dsp_pairs || layout == Layout::dsp_wide || layout == Layout::dsp_words;
}

// dsp_pairs holds A + 256 · B in 16 bits, and recovers the sum of B from 24.
constexpr bool pairs_can_carry(std::int32_t weight_a, std::int32_t weight_b) {
  return weight_a + 256 * weight_b >= -32768;
}
constexpr bool pairs_can_carry(std::int64_t sum_of_magnitudes) { return sum_of_magnitudes * 128 < (1 << 23); }

inline constexpr std::uint32_t kMaxFeatures = 4096;  // inputs and units: then no offset below leaves 32 bits
// Flags: from the last step to the first; with 16-bit activations, c has 12 fractional bits instead of 11.
inline constexpr std::uint8_t kBackwards = 1, kFinerCell = 2;

struct PackedHeader {
  std::uint16_t inputs;
  std::uint16_t units;
  std::uint8_t kind;
  std::uint8_t layout;
  std::uint8_t flags;
  // Shift of sums before they are multiplied. With 16-bit activations there is none, and this is how many more
  // fractional bits than ten the input's part of a sum has while it waits as int16: 0 to 2 (arithmetic.h).
  std::uint8_t left;
  // From h with 15 fractional bits to int8: rounded product, then a rounding shift to the right. With 16-bit
  // activations h stays as it is.
  std::int16_t h_multiplier;
  std::int8_t h_shift;
  std::int8_t h_zero_point;
};
static_assert(sizeof(PackedHeader) == 12);

// With a projection: h_multiplier and h_shift are 0.
struct ProjectedHeader {
  PackedHeader layer;
  std::uint16_t outputs;
  std::uint16_t reserved;
};
static_assert(sizeof(ProjectedHeader) == 16);

// How many more fractional bits the sums of a relu have than int8 states: the whole range of these fits 16 bits.
inline constexpr std::int32_t kReluBits = 7;

constexpr std::uint32_t round_up_4(std::uint32_t n) { return (n + 3U) & ~3U; }

// Rows that multiply the same part of [input | h].
struct Block {
  std::uint32_t rows, first, length;
  std::uint32_t weight_row;  // of w_ih and w_hh, for the first of them
  std::uint32_t out;         // the first sum
  bool adds;                 // to the parts that another block left there
};

struct Geometry {
  Kind kind;
  Layout layout;
  std::uint32_t inputs, units;
  std::uint32_t outputs = units;  // elements of h

  // With 16-bit activations rounding of the weights is all that counts: those of the input and of h have their own
  // units, and their products meet after scaling.
  [[nodiscard]] constexpr std::uint32_t blocks() const {
    if (kind == Kind::gru) return multiplies_words(layout) ? 4 : 3;
    return multiplies_words(layout) ? 2 : 1;
  }
  [[nodiscard]] constexpr Block block(std::uint32_t k) const {
    if (multiplies_words(layout)) {
      // A group's surplus rows change the sums after those of a block, which are computed later, or nothing's.
      const std::uint32_t added = (kind == Kind::gru ? 2 : gates_of(kind)) * units;
      if (k == 0) return {added, 0, inputs, 0, 0, false};
      if (k == 1) return {added, inputs, outputs, 0, 0, true};
      if (k == 2) return {units, 0, inputs, 2 * units, 2 * units, false};
      return {units, inputs, outputs, 2 * units, 3 * units, false};
    }
    if (kind != Kind::gru) return {sums_of(kind) * units, 0, inputs + outputs, 0, 0, false};
    if (k == 0) return {2 * units, 0, inputs + outputs, 0, 0, false};
    if (k == 1) return {units, 0, inputs, 2 * units, 2 * units, false};
    return {units, inputs, outputs, 2 * units, 3 * units, false};
  }
  // From o · tanh c to h.
  [[nodiscard]] constexpr Block projection() const { return {outputs, 0, units, 0, 0, false}; }
  // Whether the rows of a block wait for another part of their sums.
  [[nodiscard]] constexpr bool are_parts(std::uint32_t k) const { return multiplies_words(layout) && k == 0; }
  [[nodiscard]] constexpr std::uint32_t groups(const Block& block) const {
    const std::uint32_t group = group_of(layout);
    return group == 8 ? (block.rows + 7) / 8 : (block.rows + 3) / 4;
  }
  [[nodiscard]] constexpr std::uint32_t weight_bytes(const Block& block) const {  // of a group
    const std::uint32_t length = reads_fours(layout) ? round_up_4(block.length) : block.length;
    return group_of(layout) * length * weight_bytes_of(layout);
  }
  [[nodiscard]] constexpr std::uint32_t record_bytes(const Block& block) const {
    return 8 * group_of(layout) + weight_bytes(block);
  }
  [[nodiscard]] constexpr std::uint32_t all_record_bytes() const {
    std::uint32_t all = 0;
    for (std::uint32_t k = 0; k < blocks(); ++k) all += groups(block(k)) * record_bytes(block(k));
    return all;
  }
  [[nodiscard]] constexpr std::uint32_t bytes() const {
    std::uint32_t all = sizeof(PackedHeader);
    all += all_record_bytes();
    return all;
  }
  // The same layer with records as a projection has them.
  [[nodiscard]] constexpr Geometry in_words() const { return {kind, words_layout(layout), inputs, units, outputs}; }
  [[nodiscard]] constexpr std::uint32_t projected_bytes() const {
    const Geometry words = in_words();
    std::uint32_t all = sizeof(ProjectedHeader);
    all += all_record_bytes() + words.groups(projection()) * words.record_bytes(projection());
    return all;
  }
  // Inside a group's weights.
  [[nodiscard]] constexpr std::uint32_t weight_index(const Block& block, std::uint32_t row, std::uint32_t input) const {
    switch (layout) {
      case Layout::scalar:
      case Layout::scalar_words:
        return input * 4 + row;
      case Layout::dsp_pairs:
        return input / 4 * 16 + row / 2 * 8 + (input % 2) * 4 + (input % 4) / 2 * 2 + row % 2;
      case Layout::dsp_wide:
        return input / 4 * 32 + (input % 2) * 16 + row * 4 + (input % 4) / 2 * 2;
      case Layout::dsp_words:
        return input / 2 * 8 + row / 2 * 4 + input % 2 * 2 + row % 2;
      case Layout::mve:
      case Layout::mve_words: {
        const std::uint32_t lanes = layout == Layout::mve ? 16 : 8, whole = block.length / lanes;
        if (input / lanes < whole) return input / lanes * lanes * 8 + row * lanes + input % lanes;
        return whole * lanes * 8 + row * (block.length % lanes) + input % lanes;
      }
    }
    return 0;
  }
  // MVE narrows two vectors of four sums into one of eight by interleaving them: even rows come first.
  [[nodiscard]] constexpr std::uint32_t multiplier_slot(std::uint32_t row) const {
    return group_of(layout) == 8 ? (row % 2) * 4 + row / 2 : row;
  }

  // Scratch: [input | h], which may be read in fours, then the sums as int16 with a group's surplus. Before a
  // projection, o · tanh c of each unit replaces its first sum, and h as int16 comes after them.
  [[nodiscard]] constexpr std::uint32_t sums_offset() const {
    return (round_up_4(inputs + outputs) + 4) * (multiplies_words(layout) ? 2 : 1);
  }
  [[nodiscard]] constexpr std::uint32_t scratch_bytes() const {
    return sums_offset() + 2 * round_up_4(sums_of(kind) * units + group_of(layout));
  }
};

// For the float form: [input | h] and the sums.
constexpr std::uint32_t float_scratch_bytes(Kind kind, std::uint32_t inputs, std::uint32_t units,
                                            std::uint32_t outputs) {
  return 4 * (inputs + outputs + sums_of(kind) * units);
}

}  // namespace cormorant::ops::recurrent
