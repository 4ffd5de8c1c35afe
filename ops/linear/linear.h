// SPDX-License-Identifier: Apache-2.0
//
// Linear (fully connected): out[r, n] = Σ_k input[r, k] · weight[n, k] + bias[n]. The contract between compiler and
// kernels: the two program signatures, and the layout of the packed constant.
//
// The packed constant is a header and one record per group of output features, in the order in which the inner loop
// reads it, so that a kernel walks it with a single pointer:
//   group of G features:  bias[G] int32, weights (G · padded inputs) int8 or int16, multiplier[G] int32, shift[G] int8
//   single feature:       bias int32, weights (inputs, padded to 4) int8, multiplier int32, shift int8 + 3 zeros
// The bias has `input_offset · Σ weights` folded in: kernels multiply the input as it is stored. Features that do not
// fill a group follow as single ones. Multiplier and shift are in group_slot() order, bias in feature order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/fields.h"
#include "base/wide_product.h"
#include "ops/load/kernel_list.h"
#include "target/target.h"

#define CORMORANT_LINEAR_KERNELS(OURS, THEIRS, FOREIGN)                                         \
  THEIRS(cortex_m, quantized_linear, out, scalar_dsp_mve, load, execute, w8a8, QuantizedLinear) \
  OURS(linear, scalar, scalar, load_packed_scalar, execute_packed, w8a8, PackedLinear)          \
  OURS(linear, dsp_pairs, dsp, load_packed_dsp_pairs, execute_pairs, w8a8, PackedLinear)        \
  OURS(linear, dsp_wide, dsp, load_packed_dsp_wide, execute_wide, w8a8, PackedLinear)           \
  OURS(linear, dsp_rows, dsp, load_packed_rows, execute_rows, w8a8, PackedLinear)               \
  OURS(linear, mve, mve, load_packed_mve, execute_groups, w8a8, PackedLinear)                   \
  OURS(linear, mve_rows, mve, load_packed_rows, execute_rows, w8a8, PackedLinear)               \
  THEIRS(aten, addmm, out, any_cpu_mve, load_addmm, execute_float, f32, Addmm)                  \
  THEIRS(aten, mm, out, any_cpu_mve, load_mm, execute_float, f32, Mm)                           \
  FOREIGN(aten, linear, out, any_cpu_mve, load_linear, execute_linear, f32)
CORMORANT_NAMES(CORMORANT_LINEAR_KERNELS)

namespace cormorant::ops::linear {

// As ExecuTorch has it. Per tensor in a program; between lowering and prepacking the lists may hold one entry per
// output feature. Either kernel_sum (input_offset · Σ weights + bias) or bias is given; kernel_sum goes first.
template <class W>
struct QuantizedLinear {
  typename W::Tensor input{};
  typename W::Tensor weights{};
  typename W::OptionalTensor bias{};
  typename W::OptionalTensor kernel_sum{};
  typename W::Int input_offset{};
  typename W::Int filter_offset{};
  typename W::Int output_offset{};
  typename W::IntPair requantize_multipliers{};
  typename W::IntPair requantize_shifts{};
  typename W::Int activation_max{};
  typename W::Int activation_min{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, weights, bias, kernel_sum, input_offset, filter_offset, output_offset, requantize_multipliers,
                   requantize_shifts, activation_max, activation_min, out)
};

// The variants share a signature; the overload says which layout `packed` has.
template <class W>
struct PackedLinear {
  typename W::Tensor input{};
  typename W::Tensor packed{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, packed, out)
};

// How a group's weights are interleaved.
enum class Layout : std::uint8_t {
  // Groups of 4, offset binary (weight + 128): byte 4k + g. ARMv6-M loads unsigned bytes with an immediate offset but
  // signed ones only with an index register; Σ x · 128 is subtracted once per row of input.
  scalar = 0,
  // Groups of 4 in two pairs: the 16-bit half of inputs k is A + 256 · B for the features A and B of a pair, in the
  // order that SXTB16 leaves inputs in: a word holds inputs (k, k + 2), the next (k + 1, k + 3), first pair first.
  // One SMLAD then accumulates A + 256 B, a second one (after SXTB16) A alone.
  dsp_pairs = 1,
  // No groups: plain rows, for layers that dsp_pairs cannot represent and for which dsp_wide would take too much flash.
  rows = 2,
  // Groups of 8: blocks of 16 inputs, feature by feature, then the rest of the inputs feature by feature.
  mve = 3,
  // Groups of 4, 16-bit weights in the order in which SXTB16 leaves inputs, so that they need no unpacking: a word
  // holds inputs (k, k + 2) of a feature; the four features, then the same of (k + 1, k + 3).
  dsp_wide = 4,
};

struct Variant {
  std::string_view name;  // of the program
  Layout layout;
  Isa isa;  // the smallest that executes it
};
constexpr std::uint32_t weight_bytes_of(Layout layout) { return layout == Layout::dsp_wide ? 2 : 1; }

inline constexpr Variant kVariants[] = {
    {names::cormorant_linear_scalar, Layout::scalar, Isa::scalar},
    {names::cormorant_linear_dsp_pairs, Layout::dsp_pairs, Isa::dsp},
    {names::cormorant_linear_dsp_rows, Layout::rows, Isa::dsp},
    {names::cormorant_linear_dsp_wide, Layout::dsp_wide, Isa::dsp},
    {names::cormorant_linear_mve, Layout::mve, Isa::mve},
    {names::cormorant_linear_mve_rows, Layout::rows, Isa::mve},
};

// dsp_pairs recovers the sum of B from 24 bits, part by part, and its 16-bit halves must hold A + 256 · B.
constexpr bool pairs_can_carry(std::int32_t weight_a, std::int32_t weight_b) {
  return weight_a + 256 * weight_b >= -32768;
}
constexpr bool pairs_can_carry(std::int64_t sum_of_magnitudes) { return sum_of_magnitudes * 128 < (1 << 23); }

struct PackedHeader {
  std::uint32_t inputs;
  std::uint32_t outputs;
  std::int16_t output_offset;
  std::int8_t activation_min;
  std::int8_t activation_max;
  std::uint8_t layout;
  std::uint8_t flags;
  // dsp_pairs: after how many blocks of four inputs the sums of a pair are separated, before they leave 24 bits; 0:
  // only at the end.
  std::uint16_t part;
};
static_assert(sizeof(PackedHeader) == 16);

// Every shift is to the right by 1 … 31 and no accumulator reaches 2^30: requantization needs fewer instructions.
inline constexpr std::uint8_t kSimpleRequantize = 1;

constexpr std::uint32_t group_of(Layout layout) {
  switch (layout) {
    case Layout::scalar:
    case Layout::dsp_pairs:
    case Layout::dsp_wide:
      return 4;
    case Layout::rows:
      return 1;
    case Layout::mve:
      return 8;
  }
  return 1;
}

constexpr std::uint32_t round_up_4(std::uint32_t n) { return (n + 3U) & ~3U; }

// Byte offsets of a packed constant. `inputs` and `outputs` are at most 2^20, so nothing overflows.
inline constexpr std::uint32_t kMaxFeatures = 1U << 20;

struct PackedGeometry {
  Layout layout;
  std::uint32_t inputs;
  std::uint32_t outputs;

  [[nodiscard]] constexpr std::uint32_t group() const { return group_of(layout); }
  [[nodiscard]] constexpr std::uint32_t groups() const {
    if (group() == 8) return outputs / 8 + (is_last_filled() ? 1 : 0);
    return group() == 4 ? outputs / 4 : 0;
  }
  // Features that do not fill one of this many groups; they are stored individually.
  [[nodiscard]] constexpr std::uint32_t singles_beside(std::uint32_t count) const {
    const std::uint32_t grouped = count * group();
    return outputs > grouped ? outputs - grouped : 0;
  }
  // Three or more features of eight are faster as a group padded with zero weights than individually, if that does not
  // take much flash.
  [[nodiscard]] constexpr bool is_last_filled() const {
    constexpr std::uint32_t kMostFilling = 512;
    const std::uint32_t left = outputs % 8;
    return left >= 3 && (8 - left) * inputs <= kMostFilling;
  }
  [[nodiscard]] constexpr std::uint32_t padded_inputs() const {
    return layout == Layout::dsp_pairs || layout == Layout::dsp_wide ? round_up_4(inputs) : inputs;
  }
  [[nodiscard]] constexpr std::uint32_t group_weight_bytes() const {
    return group() * padded_inputs() * weight_bytes_of(layout);
  }
  [[nodiscard]] constexpr std::uint32_t group_bytes() const { return group() * (4 + 4 + 1) + group_weight_bytes(); }
  [[nodiscard]] constexpr std::uint32_t single_bytes() const { return 12 + round_up_4(inputs); }
  [[nodiscard]] constexpr std::uint64_t bytes() const {
    const std::uint32_t count = groups();
    return sizeof(PackedHeader) + wide_product(count, group_bytes()) +
           wide_product(singles_beside(count), single_bytes());
  }

  // The record that holds a feature, and the places inside it.
  struct Place {
    std::uint64_t record;   // offset of the record in the constant
    std::uint32_t feature;  // index inside the group; 0 for a single one
    bool grouped;
  };
  [[nodiscard]] constexpr Place place(std::uint32_t output) const {
    const std::uint32_t grouped_outputs = groups() * group();
    if (output < grouped_outputs) {
      return {sizeof(PackedHeader) + std::uint64_t{output / group()} * group_bytes(), output % group(), true};
    }
    return {sizeof(PackedHeader) + std::uint64_t{groups()} * group_bytes() +
                std::uint64_t{output - grouped_outputs} * single_bytes(),
            0, false};
  }
  [[nodiscard]] constexpr std::uint64_t bias_offset(const Place& p) const {
    const std::uint32_t inside = p.feature * 4;
    return p.record + inside;
  }
  [[nodiscard]] constexpr std::uint64_t weight_offset(const Place& p, std::uint32_t input) const {
    const std::uint32_t inside = p.grouped ? group() * 4 + group_weight_index(p.feature, input) : 4 + input;
    return p.record + inside;
  }
  [[nodiscard]] constexpr std::uint64_t multiplier_offset(const Place& p) const {
    const std::uint32_t inside =
        p.grouped ? group() * 4 + group_weight_bytes() + group_slot(p.feature) * 4 : 4 + round_up_4(inputs);
    return p.record + inside;
  }
  [[nodiscard]] constexpr std::uint64_t shift_offset(const Place& p) const {
    const std::uint32_t inside =
        p.grouped ? group() * 8 + group_weight_bytes() + group_slot(p.feature) : 8 + round_up_4(inputs);
    return p.record + inside;
  }

  // MVE narrows two vectors of four accumulators into one of eight by interleaving them: even features come first.
  [[nodiscard]] constexpr std::uint32_t group_slot(std::uint32_t feature) const {
    return layout == Layout::mve ? (feature % 2) * 4 + feature / 2 : feature;
  }
  [[nodiscard]] constexpr std::uint32_t group_weight_index(std::uint32_t feature, std::uint32_t input) const {
    switch (layout) {
      case Layout::scalar:
        return input * 4 + feature;
      case Layout::dsp_pairs: {
        const std::uint32_t block = input / 4 * 16;
        const std::uint32_t pair = feature / 2 * 8;
        return block + pair + (input % 2) * 4 + (input % 4) / 2 * 2 + feature % 2;
      }
      case Layout::dsp_wide:
        return input / 4 * 32 + (input % 2) * 16 + feature * 4 + (input % 4) / 2 * 2;
      case Layout::mve: {
        const std::uint32_t whole = inputs / 16;
        if (input / 16 < whole) return input / 16 * 128 + feature * 16 + input % 16;
        return whole * 128 + feature * (inputs % 16) + input % 16;
      }
      case Layout::rows:
        break;
    }
    return input;
  }
};

}  // namespace cormorant::ops::linear
