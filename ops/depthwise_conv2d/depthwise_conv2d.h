// SPDX-License-Identifier: Apache-2.0
//
// Depthwise convolution: every input channel has its own window. Two program forms, as for conv2d:
//   cortex_m::quantized_depthwise_conv2d.out   ExecuTorch's, weights as HWO, any depth multiplier
//   cormorant::depthwise_conv2d.<variant>      one packed constant
//
// Channels are adjacent in NHWC, so kernels compute a block of channels of one pixel at a time, tap by tap, straight
// from the input. Taps outside the input point to a pixel of zero points in scratch. With several outputs per input
// channel the rows under the window are first spread out in scratch, each byte once per output. A packed constant is
// conv2d's header and one record per block of channels:
//   bias[block] int32, weights[taps][block] int8, multiplier[block] int32, right shift[block] int8, left shift[block]
//   int8, and for a layer with slopes (conv2d.h) a second multiplier[block] int32 for sums below zero
#pragma once

#include <cstdint>

#include "base/checked_size.h"
#include "base/fields.h"
#include "kernels/conv_depthwise.h"
#include "kernels/conv_geometry.h"
#include "ops/load/kernel_list.h"
#include "target/target.h"

// _nhwc is the same with explicit layout: input and out are logically N, H, W, C.
#define CORMORANT_DEPTHWISE_CONV2D_KERNELS(OURS, THEIRS, FOREIGN)                                                      \
  THEIRS(cortex_m, quantized_depthwise_conv2d, out, scalar_dsp_mve, load_upstream, execute_direct, w8a8,               \
         QuantizedDepthwiseConv2d)                                                                                     \
  THEIRS(cortex_m, quantized_depthwise_conv2d_nhwc, out, scalar_dsp_mve, load_upstream_nhwc, execute_direct, w8a8,     \
         QuantizedDepthwiseConv2d)                                                                                     \
  OURS(depthwise_conv2d, scalar, scalar, load_scalar, execute_scalar, w8a8, conv2d::PackedConv2d)                      \
  OURS(depthwise_conv2d, dsp, dsp, load_dsp, execute_dsp, w8a8, conv2d::PackedConv2d)                                  \
  OURS(depthwise_conv2d, dsp_wide, dsp, load_dsp_wide, execute_dsp_wide, w8a8, conv2d::PackedConv2d)                   \
  OURS(depthwise_conv2d, dsp_small, dsp_small, load_dsp_small, execute_dsp_small, w8a8, conv2d::PackedConv2d)          \
  OURS(depthwise_conv2d, mve_3x3, mve, load_mve_3x3, execute_mve_3x3, w8a8, conv2d::PackedConv2d)                      \
  OURS(depthwise_conv2d, mve_3x3_narrow, mve, load_mve_3x3_narrow, execute_mve_3x3_narrow, w8a8, conv2d::PackedConv2d) \
  OURS(depthwise_conv2d, mve_kxk, mve, load_mve_kxk, execute_mve_kxk, w8a8, conv2d::PackedConv2d)                      \
  OURS(depthwise_conv2d, scalar_prelu, scalar, load_scalar_prelu, execute_scalar_prelu, w8a8, conv2d::PackedConv2d)    \
  OURS(depthwise_conv2d, dsp_prelu, dsp, load_dsp_prelu, execute_dsp_prelu, w8a8, conv2d::PackedConv2d)                \
  OURS(depthwise_conv2d, mve_prelu, mve, load_mve_prelu, execute_mve_prelu, w8a8, conv2d::PackedConv2d)                \
  OURS(depthwise_conv2d, scalar_words, scalar_words, words::load_scalar, words::execute_scalar, w8a16,                 \
       conv2d::PackedConv2d)                                                                                           \
  OURS(depthwise_conv2d, v6m_words, scalar_words, words::load_v6m, words::execute_v6m, w8a16, conv2d::PackedConv2d)    \
  OURS(depthwise_conv2d, dsp_words, dsp_words, words::load_dsp, words::execute_dsp, w8a16, conv2d::PackedConv2d)       \
  OURS(depthwise_conv2d, mve_words, mve_words, words::load_mve, words::execute_mve, w8a16, conv2d::PackedConv2d)       \
  OURS(depthwise_conv2d, scalar_nibbles, scalar, load_nibbles<nibbles::kScalar>, execute_scalar_nibbles, w4a8,         \
       conv2d::PackedConv2d)                                                                                           \
  OURS(depthwise_conv2d, dsp_nibbles, dsp, load_nibbles<nibbles::kDsp>, execute_dsp_nibbles, w4a8,                     \
       conv2d::PackedConv2d)                                                                                           \
  OURS(depthwise_conv2d, mve_3x3_nibbles, mve, load_nibbles<nibbles::kMve3x3>, execute_mve_3x3_nibbles, w4a8,          \
       conv2d::PackedConv2d)                                                                                           \
  OURS(depthwise_conv2d, mve_3x3_narrow_nibbles, mve, load_nibbles<nibbles::kMve3x3Narrow>,                            \
       execute_mve_3x3_narrow_nibbles, w4a8, conv2d::PackedConv2d)                                                     \
  OURS(depthwise_conv2d, mve_kxk_nibbles, mve, load_nibbles<nibbles::kMveKxk>, execute_mve_kxk_nibbles, w4a8,          \
       conv2d::PackedConv2d)
CORMORANT_NAMES(CORMORANT_DEPTHWISE_CONV2D_KERNELS)

namespace cormorant::ops::depthwise {

template <class W>
struct QuantizedDepthwiseConv2d {
  typename W::Tensor input{};
  typename W::Tensor weight{};
  typename W::OptionalTensor bias{};
  typename W::IntPair stride{};
  typename W::IntPair padding{};
  typename W::IntPair dilation{};
  typename W::Int depth_multiplier{};
  typename W::Int input_offset{};
  typename W::Int output_offset{};
  typename W::Tensor requantize_multipliers{};
  typename W::Tensor requantize_shifts{};
  typename W::Int activation_min{};
  typename W::Int activation_max{};
  typename W::Scratch scratch{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, weight, bias, stride, padding, dilation, depth_multiplier, input_offset, output_offset,
                   requantize_multipliers, requantize_shifts, activation_min, activation_max, scratch, out)
};

enum class Layout : std::uint8_t {
  mve,   // blocks of 16, parameters in the order in which VMULLB/T and VMOVLB/T widen bytes to words
  quad,  // blocks of 4
  // Blocks of 4, taps in pairs (kernels/conv_depthwise.h).
  dsp,
  dsp_wide,  // as 16-bit integers; these and the biases doubled, so that requantization need not double the sum
};

struct Variant {
  const char* name;  // of the program
  Layout layout;
  bool is_3x3;
  bool is_narrow;  // vectors of several pixels
  bool is_sloped = false;
};

inline constexpr Variant kMve3x3{names::cormorant_depthwise_conv2d_mve_3x3, Layout::mve, true, false};
inline constexpr Variant kMve3x3Narrow{names::cormorant_depthwise_conv2d_mve_3x3_narrow, Layout::mve, true, true};
inline constexpr Variant kMveKxk{names::cormorant_depthwise_conv2d_mve_kxk, Layout::mve, false, false};
inline constexpr Variant kDsp{names::cormorant_depthwise_conv2d_dsp, Layout::dsp, false, false};
inline constexpr Variant kDspWide{names::cormorant_depthwise_conv2d_dsp_wide, Layout::dsp_wide, false, false};
inline constexpr Variant kDspSmall{names::cormorant_depthwise_conv2d_dsp_small, Layout::dsp, false, false};
inline constexpr Variant kScalar{names::cormorant_depthwise_conv2d_scalar, Layout::quad, false, false};
inline constexpr Variant kMvePrelu{names::cormorant_depthwise_conv2d_mve_prelu, Layout::mve, false, false, true};
inline constexpr Variant kDspPrelu{names::cormorant_depthwise_conv2d_dsp_prelu, Layout::dsp, false, false, true};
inline constexpr Variant kScalarPrelu{names::cormorant_depthwise_conv2d_scalar_prelu, Layout::quad, false, false, true};
inline constexpr const Variant* kVariants[] = {&kMve3x3,   &kMve3x3Narrow, &kMveKxk,   &kDsp,      &kDspWide,
                                               &kDspSmall, &kScalar,       &kMvePrelu, &kDspPrelu, &kScalarPrelu};

constexpr std::uint32_t whole_vectors(std::uint32_t bytes) { return (bytes + 15) / 16 * 16; }
constexpr std::uint32_t multiplier_of(const conv::Geometry& g) {
  return g.out_channels == g.in_channels ? 1 : g.outputs_per_group;
}

// Whether a variant can compute a geometry: asked by prepack, and by load() about what it finds.
constexpr bool is_computable(const Variant& variant, const conv::Geometry& g) {
  if (!conv::is_sound(g) || g.groups != 1 || multiplier_of(g) * g.in_channels != g.out_channels) return false;
  if (!variant.is_3x3) return true;
  if (g.kernel_height != 3 || g.kernel_width != 3) return false;
  // With 1, 2, 4 or 8 channels a vector holds that many neighbouring pixels, and the output follows the input byte by
  // byte.
  return !variant.is_narrow ||
         (g.in_channels < 16 && (g.in_channels & (g.in_channels - 1)) == 0 && g.stride_width == 1 &&
          g.out_channels == g.in_channels && g.dilation_height == 1 && g.dilation_width == 1);
}

// MVE adds two products of bytes in 16 bits, which overflows only if both weights are −128.
constexpr const Variant& choose_variant(const Target& target, const conv::Geometry& g, bool has_lowest_weights,
                                        conv::Rounding rounding) {
  if (target.isa == Isa::scalar) return kScalar;
  if (target.isa == Isa::dsp) {
    if (target.optimize == Optimize::size) return kDspSmall;
    // Doubled sums must fit 32 bits.
    return target.optimize == Optimize::speed && conv::is_simple(rounding) ? kDspWide : kDsp;
  }
  if (has_lowest_weights || target.optimize == Optimize::size) return kMveKxk;
  return is_computable(kMve3x3Narrow, g) ? kMve3x3Narrow : is_computable(kMve3x3, g) ? kMve3x3 : kMveKxk;
}

// The same for a layer with slopes.
constexpr const Variant& choose_prelu_variant(const Target& target) {
  return target.isa == Isa::mve ? kMvePrelu : target.isa == Isa::dsp ? kDspPrelu : kScalarPrelu;
}

// MVE 3×3 walks along rows, or down columns if these are longer: each line's ends are computed one by one. Vectors that
// write past their pixel overwrite the next one of the row, so columns need whole vectors of channels.
constexpr bool walks_columns(const Variant& variant, const conv::Geometry& g) {
  return variant.is_3x3 && !variant.is_narrow && g.out_height > g.out_width && g.in_channels % 16 == 0 &&
         g.out_channels == g.in_channels;
}

// The packed stream after the header. In vectors of several pixels `channels` counts to 16 and channel c is at c, c +
// C, c + 2 C, …
struct Stream {
  Layout layout;
  std::uint32_t taps;
  std::uint32_t channels;
  bool by_columns;
  bool has_slopes;

  constexpr Stream(const Variant& variant, const conv::Geometry& g)
      : layout(variant.layout),
        taps(g.taps()),
        channels(variant.is_narrow ? 16 : g.out_channels),
        by_columns(walks_columns(variant, g)),
        has_slopes(variant.is_sloped) {}

  [[nodiscard]] constexpr std::uint32_t block_bits() const { return layout == Layout::mve ? 4 : 2; }
  [[nodiscard]] constexpr std::uint32_t block() const { return 1U << block_bits(); }
  [[nodiscard]] constexpr std::uint32_t blocks() const { return (channels + block() - 1) >> block_bits(); }
  [[nodiscard]] constexpr std::uint32_t weight_bytes() const { return layout == Layout::dsp_wide ? 2 : 1; }
  [[nodiscard]] constexpr std::uint32_t block_bytes() const {
    return block() * (4 + taps * weight_bytes() + 4 + 2 + (has_slopes ? 4 : 0));
  }
  [[nodiscard]] constexpr std::uint64_t bytes() const { return wide_product(blocks(), block_bytes()); }
  [[nodiscard]] constexpr std::uint32_t record(std::uint32_t channel) const {
    return channel / block() * block_bytes();
  }

  // Index of a channel's parameters in its block. VMULLB takes the even bytes, VMULLT the odd ones; of the 16-bit
  // products VMOVLB takes the even ones, VMOVLT the odd ones: channels 0 4 8 12, 2 6 10 14, 1 5 9 13, 3 7 11 15.
  [[nodiscard]] constexpr std::uint32_t slot(std::uint32_t channel) const {
    const std::uint32_t c = channel % block();
    return layout == Layout::mve ? (c % 2) * 8 + (c / 2 % 2) * 4 + c / 4 : c;
  }
  [[nodiscard]] constexpr std::uint32_t bias_index(std::uint32_t channel) const {
    return record(channel) + 4 * slot(channel);
  }
  [[nodiscard]] constexpr std::uint32_t weight_index(std::uint32_t channel, std::uint32_t tap) const {
    if (layout == Layout::dsp) return record(channel) + 16 + conv::pair_weight_index(taps, tap, channel % 4);
    if (layout == Layout::dsp_wide) return record(channel) + 16 + conv::wide_pair_weight_index(taps, tap, channel % 4);
    const std::uint32_t place = by_columns ? tap % 3 * 3 + tap / 3 : tap;
    return record(channel) + (4 + place) * block() + channel % block();
  }
  [[nodiscard]] constexpr std::uint32_t multiplier_index(std::uint32_t channel) const {
    return record(channel) + (4 + taps * weight_bytes()) * block() + 4 * slot(channel);
  }
  [[nodiscard]] constexpr std::uint32_t shifts_at() const { return (8 + taps * weight_bytes()) * block(); }
  [[nodiscard]] constexpr std::uint32_t right_shift_index(std::uint32_t channel) const {  // zero or negative
    return record(channel) + shifts_at() + slot(channel);
  }
  [[nodiscard]] constexpr std::uint32_t left_shift_index(std::uint32_t channel) const {  // zero or positive
    return right_shift_index(channel) + block();
  }
  [[nodiscard]] constexpr std::uint32_t negative_multiplier_index(std::uint32_t channel) const {  // where has_slopes
    return record(channel) + shifts_at() + 2 * block() + 4 * slot(channel);
  }
  // All but MVE recognize blocks with channels that are not simple by marks above the shifts to the left.
  [[nodiscard]] constexpr std::uint32_t marks() const { return layout == Layout::mve ? 0 : 32; }
  [[nodiscard]] constexpr conv::Shifts stored_shifts(std::int32_t shift, bool is_general) const {
    conv::Shifts shifts = conv::split_shift(shift);
    if (is_general) shifts.left |= static_cast<std::int32_t>(marks());
    return shifts;
  }
  // What biases and weights are multiplied by before they are stored.
  [[nodiscard]] constexpr std::int32_t scale() const { return layout == Layout::dsp_wide ? 2 : 1; }
};

// Narrow MVE 3×3 keeps the three input rows under the window in scratch, with padding around them, so that the inner
// loop need not handle the image's edge in the middle of a vector.
struct NarrowRows {
  std::uint32_t width;  // in pixels
  std::uint32_t row;    // bytes from one row to the next; vectors extend up to 15 bytes past the last pixel

  constexpr explicit NarrowRows(const conv::Geometry& g)
      : width((g.out_width - 1U) + 3), row((width * g.in_channels + 15 + 15) / 16 * 16) {}
};

// What the others keep in scratch, one after another. Kernels that use whole vectors need room for what they write past
// the last pixel, and a copy of the input's end, so that they do not read past it.
struct Scratch {
  std::uint32_t vectors;  // bytes of a pixel
  std::uint32_t taps;     // addresses of a pixel's taps
  std::uint32_t zeros;    // a pixel of zero points
  std::uint32_t spill;
  std::uint32_t tail;
  std::uint32_t span;  // input rows under a window
  bool spreads;
  static_assert(wide_product(0xffff, 0xffff) + 15 <= 0xffffffffU, "`ring_row` of any geometry");
  std::uint32_t ring_row;  // bytes of a spread row

  constexpr Scratch(const Variant& variant, const conv::Geometry& g)
      : vectors(whole_vectors(g.out_channels)),
        taps(variant.is_3x3 ? 0 : whole_vectors(4 * g.taps())),
        zeros(vectors),
        spill(variant.layout == Layout::mve && g.out_channels % 16 != 0 ? vectors : 0),
        tail(multiplier_of(g) == 1 ? 2 * spill : 0),
        span((g.kernel_height - 1U) * g.dilation_height + 1),
        spreads(multiplier_of(g) != 1),
        ring_row(spreads ? whole_vectors(std::uint32_t{g.in_width} * g.out_channels) : 0) {}
};
constexpr CheckedSize scratch_bytes(const Variant& variant, const conv::Geometry& g) {
  if (variant.is_narrow) return 3 * NarrowRows(g).row + 16;
  const Scratch s(variant, g);
  const std::uint32_t one_pixel = s.taps + s.zeros + s.spill + s.tail;  // some patches and pixels: below 2^28
  return s.spreads ? CheckedSize(s.span) * s.ring_row + (one_pixel + 16) : one_pixel;
}

// What CMSIS-NN's arm_depthwise_conv_wrapper_s8_get_buffer_size returns, which ExecuTorch's kernel requires to the
// byte. For more than one input channel: with one, the convolution is not depthwise here.
constexpr std::uint32_t upstream_scratch_bytes(Isa isa, const conv::Geometry& g) {
  constexpr std::uint32_t kMveChannels = 124;  // channels that its MVE kernel copies at a time
  if (g.in_channels != g.out_channels || g.batch != 1 || g.dilation_height != 1 || g.dilation_width != 1) return 0;
  if (isa == Isa::mve) return 4 * kMveChannels * g.taps();
  const bool is_3x3 = g.kernel_height == 3 && g.kernel_width == 3 && g.pad_top <= 1 && g.pad_left <= 1;
  return isa == Isa::scalar || is_3x3 ? 0 : 2 * g.patch();
}

}  // namespace cormorant::ops::depthwise
