// SPDX-License-Identifier: Apache-2.0
//
// Convolution in two dimensions: what compiler and kernels agree on. Two program forms:
//   cortex_m::quantized_conv2d.out   ExecuTorch's, weights as OHWI, grouped or not
//   cormorant::conv2d.<variant>      one packed constant, made for a kernel's inner loop
//
// All packed kernels are one matrix product: a few patches (pixels) times all output channels, blocks of channels ×
// pixels in registers; grouped ones are one product per group. The packed constant is a header and one record per block
// of channels of a group, in the order in which the inner loop reads it:
//   bias[block] int32, with input_offset · Σ weights folded in, so that kernels multiply the input as it is stored
//   weights     int8, interleaved as `weight_index` says, the patch padded with zeros
//   multiplier[block] int32, shift right[block] int8, shift left[block] int8 (for MVE the weights precede these)
// A convolution with a PReLU or leaky ReLU after it (activation_slopes) has a second multiplier[block] int32 after the
// shifts, for numbers that are below zero when they are multiplied. Padding must read as the input's zero point,
// because of the folded offset: a patch is copied to scratch, unless the input is the matrix already.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/checked_size.h"
#include "base/fields.h"
#include "base/overlap.h"
#include "kernels/conv_geometry.h"
#include "kernels/requantize.h"
#include "ops/load/kernel_list.h"
#include "target/target.h"

// _nhwc is the same with explicit layout: input and out are logically N, H, W, C.
#define CORMORANT_CONV2D_KERNELS(OURS, THEIRS, FOREIGN)                                                         \
  THEIRS(cortex_m, quantized_conv2d, out, scalar_dsp_mve, load_upstream, execute_direct, w8a8, QuantizedConv2d) \
  THEIRS(cortex_m, quantized_conv2d_nhwc, out, scalar_dsp_mve, load_upstream_nhwc, execute_direct, w8a8,        \
         QuantizedConv2d)                                                                                       \
  OURS(conv2d, scalar, scalar, load_scalar, execute_scalar, w8a8, PackedConv2d)                                 \
  OURS(conv2d, v6m, scalar, load_v6m, execute_v6m, w8a8, PackedConv2d)                                          \
  OURS(conv2d, halves, scalar, load_halves, execute_halves, w8a8, PackedConv2d)                                 \
  OURS(conv2d, halves_groups, scalar, load_halves_groups, execute_halves_groups, w8a8, PackedConv2d)            \
  OURS(conv2d, dsp, dsp, load_dsp, execute_dsp, w8a8, PackedConv2d)                                             \
  OURS(conv2d, dsp_groups, dsp, load_dsp_groups, execute_dsp_groups, w8a8, PackedConv2d)                        \
  OURS(conv2d, dsp_wide, dsp, load_dsp_wide, execute_dsp_wide, w8a8, PackedConv2d)                              \
  OURS(conv2d, dsp_small, dsp_small, load_dsp, execute_dsp_small, w8a8, PackedConv2d)                           \
  OURS(conv2d, mve_1x1, mve, load_mve_1x1, execute_mve_1x1, w8a8, PackedConv2d)                                 \
  OURS(conv2d, mve_kxk, mve, load_mve_kxk, execute_mve_kxk, w8a8, PackedConv2d)                                 \
  OURS(conv2d, mve_row, mve, load_mve_row, execute_mve_row, w8a8, PackedConv2d)                                 \
  OURS(conv2d, mve_sum, mve, load_mve_sum, execute_mve_sum, w8a8, SummedConv2d)                                 \
  OURS(conv2d, scalar_prelu, scalar, load_scalar_prelu, execute_scalar_prelu, w8a8, PackedConv2d)               \
  OURS(conv2d, v6m_prelu, scalar, load_v6m_prelu, execute_v6m_prelu, w8a8, PackedConv2d)                        \
  OURS(conv2d, halves_prelu, scalar, load_halves_prelu, execute_halves_prelu, w8a8, PackedConv2d)               \
  OURS(conv2d, dsp_prelu, dsp, load_dsp_prelu, execute_dsp_prelu, w8a8, PackedConv2d)                           \
  OURS(conv2d, mve_prelu, mve, load_mve_prelu, execute_mve_prelu, w8a8, PackedConv2d)                           \
  OURS(conv2d, mve_row_prelu, mve, load_mve_row_prelu, execute_mve_row_prelu, w8a8, PackedConv2d)               \
  OURS(conv2d, scalar_nibbles, scalar_words, load_scalar_nibbles, execute_scalar_nibbles, w4a8, PackedConv2d)   \
  OURS(conv2d, v6m_nibbles, scalar_words, load_v6m_nibbles, execute_v6m_nibbles, w4a8, PackedConv2d)            \
  OURS(conv2d, dsp_nibbles, dsp_words, load_dsp_nibbles, execute_dsp_nibbles, w4a8, PackedConv2d)               \
  OURS(conv2d, mve_nibbles, mve_words, load_mve_nibbles, execute_mve_nibbles, w4a8, PackedConv2d)               \
  OURS(conv2d, words, words, words::load_plain, words::execute_plain, w8a16, PackedConv2d)                      \
  OURS(conv2d, scalar_words, scalar_words, words::load_scalar, words::execute_scalar, w8a16, PackedConv2d)      \
  OURS(conv2d, v6m_words, scalar_words, words::load_v6m, words::execute_v6m, w8a16, PackedConv2d)               \
  OURS(conv2d, dsp_words, dsp_words, words::load_dsp, words::execute_dsp, w8a16, PackedConv2d)                  \
  OURS(conv2d, mve_words, mve_words, words::load_mve, words::execute_mve, w8a16, PackedConv2d)                  \
  THEIRS(aten, convolution, out, any_cpu_mve, load_convolution, execute_convolution, f32, FloatConvolution)
#define CORMORANT_CONV2D_NUMBERS(NUMBERS) NUMBERS(aten, convolution, out, load_numbers, execute_numbers)
CORMORANT_NAMES(CORMORANT_CONV2D_KERNELS)

namespace cormorant::ops::conv2d {

template <class W>
struct QuantizedConv2d {
  typename W::Tensor input{};
  typename W::Tensor weight{};
  typename W::OptionalTensor bias{};
  typename W::IntPair stride{};
  typename W::IntPair padding{};
  typename W::IntPair dilation{};
  typename W::Int input_offset{};
  typename W::Int output_offset{};
  typename W::Tensor requantize_multipliers{};
  typename W::Tensor requantize_shifts{};
  typename W::Int activation_min{};
  typename W::Int activation_max{};
  typename W::Scratch scratch{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, weight, bias, stride, padding, dilation, input_offset, output_offset, requantize_multipliers,
                   requantize_shifts, activation_min, activation_max, scratch, out)
};

// The variants share a signature; the overload says what `packed` holds.
template <class W>
struct PackedConv2d {
  static constexpr Overlap kOverlap = Overlap::covered;
  typename W::Tensor input{};
  typename W::Tensor packed{};
  typename W::Scratch scratch{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, packed, scratch, out)
};

// With the sum of the result and a residual connection's operand, which the sum may overwrite:
//   out = saturate_int8((convolved · self_factor + residual · other_factor + offset) >> shift)
// where `convolved` is what the convolution alone would return (kernels/sum_factors.h).
template <class W>
struct SummedConv2d {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor input{};
  typename W::Tensor packed{};
  typename W::Tensor residual{};
  typename W::Int self_factor{};
  typename W::Int other_factor{};
  typename W::Int offset{};
  typename W::Int shift{};
  typename W::Scratch scratch{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, packed, residual, self_factor, other_factor, offset, shift, scratch, out)
};

enum class Layout : std::uint8_t {
  mve,     // 4 channels × 2 pixels: 16 elements of each channel in turn
  dsp,     // 2 channels × 3 pixels: a word is elements k, k + 2 of both channels, the next k + 1, k + 3
  scalar,  // 2 channels × 3 pixels: element k of both channels
  v6m,     // 1 channel × 4 pixels: weight + 128, since ARMv6-M loads only unsigned bytes with an immediate offset
  // 1 channel × 4 pixels, two of which share a word and each multiplication. Two neighbours among a channel's weights
  // must not together exceed 255 in magnitude.
  halves,
  // As dsp, but with 16-bit weights, which need no unpacking: a word is elements k, k + 2 of a channel, the next the
  // same of the other channel, then k + 1, k + 3. Weights and biases are doubled, so that requantization need not
  // double the sum.
  dsp_wide,
  // The same with a second multiplier per channel.
  mve_prelu = 8 + mve,
  dsp_prelu = 8 + dsp,
  scalar_prelu = 8 + scalar,
  v6m_prelu = 8 + v6m,
  halves_prelu = 8 + halves,
};
constexpr bool has_slopes(Layout layout) { return layout >= Layout::mve_prelu; }
constexpr Layout without_slopes(Layout layout) { return static_cast<Layout>(static_cast<unsigned>(layout) & 7U); }

struct Variant {
  const char* name;  // of the program
  Layout layout;
  bool pointwise;           // reads the input as it is
  bool by_columns = false;  // computes one row, and has its patches column by column
  bool grouped = false;     // groups too: finds the taps of a pixel once, and all groups read them from a table
};

inline constexpr Variant kMve1x1{names::cormorant_conv2d_mve_1x1, Layout::mve, true};
inline constexpr Variant kMveKxk{names::cormorant_conv2d_mve_kxk, Layout::mve, false};
inline constexpr Variant kMveRow{names::cormorant_conv2d_mve_row, Layout::mve, false, true};
inline constexpr Variant kMveSum{names::cormorant_conv2d_mve_sum, Layout::mve, false};
inline constexpr Variant kDsp{names::cormorant_conv2d_dsp, Layout::dsp, false};
inline constexpr Variant kDspGroups{names::cormorant_conv2d_dsp_groups, Layout::dsp, false, false, true};
inline constexpr Variant kDspWide{names::cormorant_conv2d_dsp_wide, Layout::dsp_wide, false};
inline constexpr Variant kDspSmall{names::cormorant_conv2d_dsp_small, Layout::dsp, false};
inline constexpr Variant kScalar{names::cormorant_conv2d_scalar, Layout::scalar, false};
inline constexpr Variant kV6m{names::cormorant_conv2d_v6m, Layout::v6m, false};
inline constexpr Variant kHalves{names::cormorant_conv2d_halves, Layout::halves, false};
inline constexpr Variant kHalvesGroups{names::cormorant_conv2d_halves_groups, Layout::halves, false, false, true};
// For a layer with slopes, grouped or not: one for all windows.
inline constexpr Variant kMvePrelu{names::cormorant_conv2d_mve_prelu, Layout::mve_prelu, false};
inline constexpr Variant kMveRowPrelu{names::cormorant_conv2d_mve_row_prelu, Layout::mve_prelu, false, true};
inline constexpr Variant kDspPrelu{names::cormorant_conv2d_dsp_prelu, Layout::dsp_prelu, false, false, true};
inline constexpr Variant kScalarPrelu{names::cormorant_conv2d_scalar_prelu, Layout::scalar_prelu, false};
inline constexpr Variant kV6mPrelu{names::cormorant_conv2d_v6m_prelu, Layout::v6m_prelu, false};
inline constexpr Variant kHalvesPrelu{names::cormorant_conv2d_halves_prelu, Layout::halves_prelu, false, false, true};
inline constexpr const Variant* kVariants[] = {&kMve1x1,   &kMveKxk,      &kMveRow,      &kDsp,      &kDspGroups,
                                               &kDspWide,  &kDspSmall,    &kScalar,      &kV6m,      &kHalves,
                                               &kMveSum,   &kMvePrelu,    &kMveRowPrelu, &kDspPrelu, &kScalarPrelu,
                                               &kV6mPrelu, &kHalvesPrelu, &kHalvesGroups};

// CPUs without a long multiply and with eight registers for most instructions: ARMv6-M, ARMv8-M Baseline.
constexpr bool is_baseline(const Target& target) { return target.isa == Isa::scalar && !target.cpu->has_long_multiply; }

// One row of output, from exactly the rows that its window covers.
constexpr bool is_row_of_window(const conv::Geometry& g) {
  return g.batch == 1 && g.groups == 1 && g.out_height == 1 && g.pad_top == 0 && g.dilation_width == 1 &&
         (g.kernel_height - 1U) * g.dilation_height + 1 == g.in_height;
}
constexpr bool has_small_rows(const conv::Geometry& g) { return std::uint32_t{g.kernel_width} * g.in_channels <= 16; }
// Index of the k-th element in a patch that is stored column by column.
constexpr std::uint32_t place_by_columns(const conv::Geometry& g, std::uint32_t k) {
  if (has_small_rows(g)) return k;
  const std::uint32_t inputs = g.group_inputs(), pixel = k / inputs;
  return (pixel % g.kernel_width * g.kernel_height + pixel / g.kernel_width) * inputs + k % inputs;
}

// Kernels that leave groups to a separate variant.
constexpr bool is_for_whole(const Variant& variant) {
  return !variant.grouped &&
         (variant.layout == Layout::dsp || variant.layout == Layout::dsp_wide || variant.layout == Layout::halves);
}

// Whether a variant can compute a geometry: asked by prepack, and by load() about what it finds.
constexpr bool is_computable(const Variant& variant, const conv::Geometry& g) {
  return conv::is_sound(g) && conv::has_sound_groups(g) && (!variant.pointwise || conv::is_one_pixel(g)) &&
         (!variant.by_columns || is_row_of_window(g)) && (!is_for_whole(variant) || g.groups == 1);
}

// The same for a layer with a residual connection: sums are of whole vectors, in stretches of a column (Walk::columns).
constexpr bool is_summable(const conv::Geometry& g) {
  return is_computable(kMveSum, g) && g.batch == 1 && g.groups == 1 && g.kernel_height > 1 && g.dilation_height == 1 &&
         g.out_height > 1 && g.out_channels % 16 == 0;
}

// Blocks of 4 pixels take 11 cycles per weight on M3, blocks of 3 take 10; leftover pixels take a block each.
constexpr bool wastes_halves(const conv::Geometry& g) {
  const std::uint32_t pixels = g.out_pixels();
  return (pixels / 4 + pixels % 4) * 11 > (pixels / 3 + pixels % 3) * 10;
}

// The walk for one row needs all of its input until the end: it is for rows that are computed one by one (is_row),
// whose input has other readers anyway.
constexpr const Variant& choose_variant(const Target& target, const conv::Geometry& g, conv::Rounding rounding,
                                        bool is_row, bool is_grouped) {
  if (target.isa == Isa::mve) {
    if (target.optimize == Optimize::size) return kMveKxk;
    if (conv::is_one_pixel(g)) return kMve1x1;
    return is_row && is_row_of_window(g) && g.kernel_height > 1 && g.out_width > 1 ? kMveRow : kMveKxk;
  }
  if (target.isa == Isa::dsp) {
    if (is_grouped) return kDspGroups;
    if (target.optimize == Optimize::size) return kDspSmall;
    // Doubled sums must fit 32 bits. M7 unpacks weights alongside products, at no cost.
    const bool wide = target.optimize == Optimize::speed && target.cpu->archive != "m7" && conv::is_simple(rounding);
    return wide ? kDspWide : kDsp;
  }
  if (is_grouped) return kHalvesGroups;
  // One kernel for all is smaller than two.
  const bool may_differ = !is_baseline(target) && target.optimize != Optimize::size;
  return may_differ && wastes_halves(g) ? kScalar : kHalves;
}
// The same for a layer with slopes.
constexpr const Variant& choose_prelu_variant(const Target& target, const conv::Geometry& g, bool is_row,
                                              bool is_grouped) {
  if (target.isa == Isa::dsp) return kDspPrelu;
  if (target.isa == Isa::mve) {
    return is_row && is_row_of_window(g) && g.kernel_height > 1 && g.out_width > 1 ? kMveRowPrelu : kMvePrelu;
  }
  const bool may_differ = !is_baseline(target) && target.optimize != Optimize::size;
  return !is_grouped && may_differ && wastes_halves(g) ? kScalarPrelu : kHalvesPrelu;
}
// If the weights rule out halves.
constexpr const Variant& variant_for_any_weights(const Target& target, bool is_sloped) {
  if (is_sloped) return is_baseline(target) ? kV6mPrelu : kScalarPrelu;
  return is_baseline(target) ? kV6m : kScalar;
}
constexpr std::int32_t kLargestPair = 255;

constexpr std::uint32_t round_up(std::uint32_t n, std::uint32_t to) { return (n + to - 1) & ~(to - 1); }  // 2^n

// The packed stream after the header.
struct Stream {
  Layout layout;
  std::uint32_t patch;
  std::uint32_t channels;  // outputs of a group
  std::uint32_t groups;

  constexpr Stream(Layout l, const conv::Geometry& g)
      : layout(l), patch(g.patch()), channels(g.group_outputs()), groups(g.groups) {}

  [[nodiscard]] constexpr Layout kind() const { return without_slopes(layout); }
  [[nodiscard]] constexpr bool is_sloped() const { return has_slopes(layout); }

  [[nodiscard]] constexpr std::uint32_t block_bits() const {
    switch (kind()) {
      case Layout::mve:
        return 2;
      case Layout::dsp:
      case Layout::dsp_wide:
      case Layout::scalar:
        return 1;
      default:
        break;
    }
    return 0;
  }
  [[nodiscard]] constexpr std::uint32_t block() const { return 1U << block_bits(); }
  [[nodiscard]] constexpr std::uint32_t group_blocks() const { return (channels + block() - 1) >> block_bits(); }
  [[nodiscard]] constexpr std::uint32_t blocks() const { return groups * group_blocks(); }
  [[nodiscard]] constexpr std::uint32_t group_bytes() const { return group_blocks() * block_bytes(); }
  [[nodiscard]] constexpr std::uint32_t padded_patch() const {
    switch (kind()) {
      case Layout::mve:
        return round_up(patch, 16);
      case Layout::dsp:
      case Layout::dsp_wide:
      case Layout::v6m:
      case Layout::halves:
        return round_up(patch, 4);
      default:
        break;
    }
    return round_up(patch, 2);
  }
  [[nodiscard]] constexpr std::uint32_t weight_bytes() const { return kind() == Layout::dsp_wide ? 2 : 1; }
  // mve: bias, weights, multiplier, shifts. Others: bias, multiplier, shifts (padded to 4), weights. Second multipliers
  // follow the shifts.
  [[nodiscard]] constexpr std::uint32_t weights_at() const {
    return kind() == Layout::mve ? 4 * block() : 4 * block() + parameter_bytes();
  }
  [[nodiscard]] constexpr std::uint32_t parameter_bytes() const {
    return 4 * block() + round_up(2 * block(), 4) + (is_sloped() ? 4 * block() : 0);
  }
  [[nodiscard]] constexpr std::uint32_t multipliers_at() const {
    return kind() == Layout::mve ? 4 * block() + block() * padded_patch() : 4 * block();
  }
  [[nodiscard]] constexpr std::uint32_t shifts_at() const { return multipliers_at() + 4 * block(); }
  [[nodiscard]] constexpr std::uint32_t block_bytes() const {
    return 4 * block() + parameter_bytes() + block() * padded_patch() * weight_bytes();
  }
  [[nodiscard]] constexpr std::uint64_t bytes() const { return wide_product(blocks(), block_bytes()); }

  [[nodiscard]] constexpr std::uint32_t record(std::uint32_t channel) const {
    return (channel / channels * group_blocks() + channel % channels / block()) * block_bytes();
  }
  [[nodiscard]] constexpr std::uint32_t lane(std::uint32_t channel) const { return channel % channels % block(); }
  [[nodiscard]] constexpr std::uint32_t bias_index(std::uint32_t channel) const {
    return record(channel) + lane(channel) * 4;
  }
  [[nodiscard]] constexpr std::uint32_t multiplier_index(std::uint32_t channel) const {
    return record(channel) + multipliers_at() + lane(channel) * 4;
  }
  [[nodiscard]] constexpr std::uint32_t right_shift_index(std::uint32_t channel) const {  // zero or negative
    return record(channel) + shifts_at() + lane(channel);
  }
  [[nodiscard]] constexpr std::uint32_t left_shift_index(std::uint32_t channel) const {  // zero or positive
    return right_shift_index(channel) + block();
  }
  [[nodiscard]] constexpr std::uint32_t negative_multiplier_index(std::uint32_t channel) const {
    return record(channel) + shifts_at() + round_up(2 * block(), 4) + lane(channel) * 4;
  }
  // Where Layout::halves says whether a channel is simple and its sums are small (kernels/requantize_v6m.h):
  // between the shifts and the weights.
  [[nodiscard]] constexpr std::uint32_t small_index(std::uint32_t channel) const {
    return right_shift_index(channel) + 2;
  }
  [[nodiscard]] constexpr std::uint32_t weight_index(std::uint32_t channel, std::uint32_t k) const {
    const std::uint32_t start = record(channel) + weights_at();
    switch (kind()) {
      case Layout::mve:
        return start + (k / 16 * 4 + lane(channel)) * 16 + k % 16;
      case Layout::dsp:
        return start + k / 4 * 8 + k % 2 * 4 + k % 4 / 2 * 2 + lane(channel);
      case Layout::dsp_wide:
        return start + k / 4 * 16 + k % 2 * 8 + lane(channel) * 4 + k % 4 / 2 * 2;
      case Layout::scalar:
        return start + k * 2 + lane(channel);
      default:
        break;
    }
    return start + k;
  }
  // What biases and weights are multiplied by before they are stored.
  [[nodiscard]] constexpr std::int32_t scale() const { return kind() == Layout::dsp_wide ? 2 : 1; }
  // What is added to a weight before it is stored.
  [[nodiscard]] constexpr std::int32_t weight_offset() const { return kind() == Layout::v6m ? 128 : 0; }
};

// Pixels that a block computes at a time.
constexpr std::uint32_t pixels_of(Layout layout) {
  layout = without_slopes(layout);
  return layout == Layout::mve ? 2 : layout == Layout::v6m || layout == Layout::halves ? 4 : 3;
}

// How MVE finds its patches, the cheapest first.
enum class Walk : std::uint8_t {
  // Along the rows of the input, in place: the window is one row of neighbours. Patches are copied only at the image's
  // edge.
  rows,
  // Down the columns of the output, a stretch at a time: the part of each input row under the window is copied once,
  // and the windows of successive pixels overlap in that copy. With a dilation of d these are d columns of every d-th
  // row.
  columns,
  // Each patch is copied.
  pixels,
};
constexpr Walk walk_of(const conv::Geometry& g) {
  if (g.kernel_height == 1 && (g.kernel_width == 1 || (g.dilation_width == 1 && g.groups == 1))) return Walk::rows;
  // A column of one pixel would be computed twice.
  return g.out_height == 1 || (g.dilation_height != 1 && g.stride_height != 1) ? Walk::pixels : Walk::columns;
}

// Outputs of a stretch: as many as a small copy serves, but at least a few, since their windows overlap; pairs are not
// split. The stretches of all columns at one height are a band of the output: more bands mean shorter stretches.
struct Stretch {
  std::uint32_t row;  // bytes that the window sees of a row
  std::uint32_t outputs;
  std::uint32_t rows;

  constexpr explicit Stretch(const conv::Geometry& g, std::uint32_t bands = 1)
      : row(std::uint32_t{g.kernel_width} * g.group_inputs()), outputs(column_outputs(g)), rows(0) {
    const std::uint32_t fit_rows = (row < 64 ? 1024 : 2048) / row;
    const std::uint32_t fit = fit_rows < g.kernel_height ? 0 : (fit_rows - g.kernel_height) / g.stride_height + 1;
    const std::uint32_t some = fit < 4 ? 4 : fit / 2 * 2;
    std::uint32_t count = (outputs + some - 1) / some;
    if (count < bands) count = bands;
    const std::uint32_t each = round_up((outputs + count - 1) / count, 2);
    if (each < outputs) outputs = each;
    rows = (outputs - 1) * g.stride_height + g.kernel_height;
  }
  // Of what the windows see: vectors read up to 15 bytes past the last patch, and are written up to 15 bytes past the
  // last row.
  [[nodiscard]] constexpr CheckedSize bytes() const { return CheckedSize(rows) * row + 16U; }
  // Rows of the output whose windows begin in the same class of rows.
  static constexpr std::uint32_t column_outputs(const conv::Geometry& g) {
    return (std::uint32_t{g.out_height} + g.dilation_height - 1) / g.dilation_height;
  }
};

// The same along a row of the output: columns of the window one after another, or patch by patch if a row of it is no
// longer than a vector. Small, since computing by rows is meant to save memory.
struct RowStretch {
  static_assert(wide_product(conv::kMaxStep - 1, conv::kMaxPatch) <= 0xffffffffU, "`step` of a sound geometry");
  std::uint32_t step;  // bytes from a pixel's patch to the next one's
  std::uint32_t outputs;
  CheckedSize bytes;

  constexpr explicit RowStretch(const conv::Geometry& g) : step(0), outputs(g.out_width), bytes(0) {
    const std::uint32_t column = std::uint32_t{g.kernel_height} * g.in_channels;
    step = has_small_rows(g) ? round_up(g.patch(), 16) : g.stride_width * column;
    const std::uint32_t fit = (has_small_rows(g) ? 256 : 1024) / step;
    const std::uint32_t some = fit < 4 ? 4 : fit / 2 * 2;
    if (some < outputs) outputs = some;
    bytes = CheckedSize(outputs) * step + 16U;
    if (!has_small_rows(g) && g.kernel_width > g.stride_width) {
      bytes = bytes + CheckedSize(std::uint32_t{g.kernel_width} - g.stride_width) * column;
    }
  }
};

// Groups read the same pixels: a table of the taps of a block's pixels, and a pixel of padding.
constexpr CheckedSize tap_table_bytes(const Variant& variant, const conv::Geometry& g) {
  if (!variant.grouped || g.groups == 1) return 0U;
  return CheckedSize(4 * pixels_of(variant.layout)) * g.taps() + round_up(g.in_channels, 4);
}

// DSP takes groups of two channels two at a time (kernels/conv_pairs_dsp.h), if they are requantized in the simplest
// way.
constexpr bool has_pairs(const conv::Geometry& g) {
  return g.group_inputs() == 2 && g.group_outputs() == 2 && g.groups % 2 == 0;
}

// DSP widens bytes in place if each run of a patch is whole words; else it gathers them first.
constexpr std::uint32_t gathered_bytes(const conv::Geometry& g, std::uint32_t padded_patch) {
  return g.group_inputs() % 4 == 0 ? 0 : padded_patch;
}

// Bytes of scratch of a packed kernel: the patches of one block of pixels, in the element type of the multiplication.
constexpr CheckedSize scratch_bytes(const Variant& variant, const conv::Geometry& g) {
  const std::uint32_t patch = Stream(variant.layout, g).padded_patch();
  switch (without_slopes(variant.layout)) {
    case Layout::mve:
      // CPUs without MVE need not divide for it either.
      if constexpr (kHasLongMultiply) {
        switch (walk_of(g)) {
          case Walk::rows:
            // If 16 does not divide the patch, whole vectors would run past the input's end.
            return variant.pointwise && patch == g.patch() ? 0U : patch;
          case Walk::columns:
            return Stretch(g).bytes();
          case Walk::pixels:
            break;
        }
        return 2 * patch;
      } else {
        return 0U;
      }
    case Layout::dsp:
    case Layout::dsp_wide:
      return CheckedSize(3 * 2 * patch + gathered_bytes(g, patch)) + tap_table_bytes(variant, g);  // 16-bit elements
    case Layout::scalar:
      return 3 * 4 * patch;
    case Layout::halves:
      return CheckedSize(2 * 4 * patch) + tap_table_bytes(variant, g);
    default:
      break;
  }
  return 4 * 4 * patch;
}

// The same if it may be a row's: separate, because most programs have none.
constexpr CheckedSize row_scratch_bytes(const Variant& variant, const conv::Geometry& g) {
  return variant.by_columns ? RowStretch(g).bytes : scratch_bytes(variant, g);
}

// With a residual connection as many more: a stretch's results before they are added.
constexpr CheckedSize summed_bytes(const conv::Geometry& g) { return CheckedSize(Stretch(g).outputs) * g.out_channels; }

// What CMSIS-NN's arm_convolve_wrapper_s8_get_buffer_size returns, which ExecuTorch's kernel requires to the byte.
// `padding` is symmetric here, and the weights' channels equal the input's unless the convolution is grouped.
constexpr std::uint32_t upstream_scratch_bytes(Isa isa, const conv::Geometry& g, std::uint32_t kernel_channels) {
  const bool whole = kernel_channels == g.in_channels;
  if (g.taps() == 1 && g.pad_top == 0 && g.pad_left == 0 && g.dilation_height == 1 && g.dilation_width == 1 && whole) {
    return 0;
  }
  const std::uint32_t general = isa == Isa::mve ? 4 * round_up(g.patch(), 16) : 4 * round_up(g.patch(), 4);
  const bool is_row = g.in_height == 1 && g.kernel_height == 1 && g.dilation_width == 1 &&
                      std::uint32_t{g.stride_width} * g.in_channels % 4 == 0 && whole;
  if (isa != Isa::mve || !is_row) return general;
  // One row: the window slides over the row with its padding attached, without a copy if there is none.
  const std::int32_t stride = g.stride_width;
  const std::int32_t pad = g.pad_left;
  const std::int32_t total_pad = (g.out_width - 1) * stride + g.kernel_width - g.in_width;
  const std::int32_t odd = total_pad % 2;
  const auto pixels = [stride](std::int32_t padding) {
    const std::int32_t n = (padding + stride - 1) / stride;
    return padding == 0 ? 0 : (n > 1 ? n : 1);
  };
  const std::int32_t right = pixels(pad + odd);
  const std::int32_t left = pixels(pad);
  const std::int32_t inside = g.out_width - (right + left) > 0 ? g.out_width - (right + left) : 0;
  if (right + inside + left != g.out_width) return general;
  const std::int32_t channels = g.in_channels;
  const std::int32_t first = g.kernel_width * channels + pad * channels;
  const std::int32_t last = (g.kernel_width - 1) * channels + (odd != 0 ? right : pad) * channels;
  return static_cast<std::uint32_t>(first > last ? first : last);
}

}  // namespace cormorant::ops::conv2d
