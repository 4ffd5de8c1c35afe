// SPDX-License-Identifier: Apache-2.0
//
// Depthwise convolution: every input channel has its own window. Two program forms, as for conv2d:
//   cortex_m::quantized_depthwise_conv2d.out   ExecuTorch's, weights as HWO, any depth multiplier
//   cormorant::depthwise_conv2d.<variant>      one packed constant, for one output channel per input channel
//
// Channels lie side by side in NHWC, so kernels compute a block of channels of one pixel at a time, tap by tap,
// straight from the input. Padding reads a row of the input's zero point in scratch, to which taps outside of the input
// point. A packed constant is conv2d's header and one record per block of channels:
//   bias[block] int32, weights[taps][block] int8, multiplier[block] int32, right shift[block] int8, left shift[block]
//   int8
#pragma once

#include <cstdint>

#include "kernels/conv_geometry.h"
#include "target/target.h"

namespace cormorant::ops::depthwise {

template <class W>
struct QuantizedDepthwiseConv2d {
  static constexpr const char* kName = "cortex_m::quantized_depthwise_conv2d.out";
  typename W::Tensor input{};
  typename W::Tensor weight{};
  typename W::OptionalTensor bias{};
  typename W::IntList stride{};
  typename W::IntList padding{};
  typename W::IntList dilation{};
  typename W::Int depth_multiplier{};
  typename W::Int input_offset{};
  typename W::Int output_offset{};
  typename W::Tensor requantize_multipliers{};
  typename W::Tensor requantize_shifts{};
  typename W::Int activation_min{};
  typename W::Int activation_max{};
  typename W::Scratch scratch{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("input", input);
    v("weight", weight);
    v("bias", bias);
    v("stride", stride);
    v("padding", padding);
    v("dilation", dilation);
    v("depth_multiplier", depth_multiplier);
    v("input_offset", input_offset);
    v("output_offset", output_offset);
    v("requantize_multipliers", requantize_multipliers);
    v("requantize_shifts", requantize_shifts);
    v("activation_min", activation_min);
    v("activation_max", activation_max);
    v("scratch", scratch);
    v("out", out);
  }
};
// The same where layout is written out: input and out are logically N, H, W, C.
inline constexpr const char* kQuantizedDepthwiseConv2dNhwc = "cortex_m::quantized_depthwise_conv2d_nhwc.out";

enum class Layout : std::uint8_t {
  mve,   // blocks of 16, parameters in the order in which VMULLB/T and VMOVLB/T widen bytes to words
  quad,  // blocks of 4
};

struct Variant {
  const char* name;  // of the program
  Layout layout;
  bool is_3x3;
};

inline constexpr Variant kMve3x3{"cormorant::depthwise_conv2d.mve_3x3", Layout::mve, true};
inline constexpr Variant kMveKxk{"cormorant::depthwise_conv2d.mve_kxk", Layout::mve, false};
inline constexpr Variant kDsp{"cormorant::depthwise_conv2d.dsp", Layout::quad, false};
inline constexpr Variant kScalar{"cormorant::depthwise_conv2d.scalar", Layout::quad, false};
inline constexpr const Variant* kVariants[] = {&kMve3x3, &kMveKxk, &kDsp, &kScalar};

// Whether a variant computes a geometry: asked by prepack, and by load() of what it finds. MVE 3×3 keeps three input
// rows in scratch, which nobody wants to be large.
constexpr bool is_computable(const Variant& variant, const conv::Geometry& g) {
  if (!conv::is_sound(g) || g.out_channels != g.in_channels || g.groups != 1) return false;
  if (!variant.is_3x3) return true;
  return g.kernel_height == 3 && g.kernel_width == 3 && g.dilation_height == 1 && g.dilation_width == 1 &&
         (g.out_width * std::uint64_t{g.stride_width} + 3) * (g.in_channels + 15U) <= 65536;
}

// MVE adds two products of bytes in 16 bits, which overflows only with a weight of −128.
constexpr bool needs_symmetric_weights(const Variant& variant) { return variant.layout == Layout::mve; }

constexpr const Variant& choose_variant(const Target& target, const conv::Geometry& g) {
  if (target.isa == Isa::mve) return is_computable(kMve3x3, g) ? kMve3x3 : kMveKxk;
  return target.isa == Isa::dsp ? kDsp : kScalar;
}

// With 1, 2, 4 or 8 channels a vector holds that many neighbouring pixels, and the output follows the input byte by
// byte.
constexpr bool packs_pixels(const Variant& variant, const conv::Geometry& g) {
  return variant.is_3x3 && g.in_channels < 16 && 16 % g.in_channels == 0 && g.stride_width == 1;
}

// The packed stream behind the header. Where pixels are packed, `channels` counts to 16 and channel c stands at c, c +
// C, c + 2 C, …
struct Stream {
  Layout layout;
  std::uint32_t taps;
  std::uint32_t channels;

  constexpr Stream(const Variant& variant, const conv::Geometry& g)
      : layout(variant.layout), taps(g.taps()), channels(packs_pixels(variant, g) ? 16 : g.out_channels) {}

  [[nodiscard]] constexpr std::uint32_t block() const { return layout == Layout::mve ? 16 : 4; }
  [[nodiscard]] constexpr std::uint32_t blocks() const { return (channels + block() - 1) / block(); }
  [[nodiscard]] constexpr std::uint32_t block_bytes() const { return block() * (4 + taps + 4 + 2); }
  [[nodiscard]] constexpr std::uint64_t bytes() const { return std::uint64_t{blocks()} * block_bytes(); }
  [[nodiscard]] constexpr std::uint32_t record(std::uint32_t channel) const {
    return channel / block() * block_bytes();
  }

  // Place of a channel's parameters in its block. VMULLB takes the even bytes, VMULLT the odd ones; of the 16-bit
  // products VMOVLB takes the even ones, VMOVLT the odd ones: channels 0 4 8 12, 2 6 10 14, 1 5 9 13, 3 7 11 15.
  [[nodiscard]] constexpr std::uint32_t slot(std::uint32_t channel) const {
    const std::uint32_t c = channel % block();
    return layout == Layout::mve ? (c % 2) * 8 + (c / 2 % 2) * 4 + c / 4 : c;
  }
  [[nodiscard]] constexpr std::uint32_t bias_index(std::uint32_t channel) const {
    return record(channel) + 4 * slot(channel);
  }
  [[nodiscard]] constexpr std::uint32_t weight_index(std::uint32_t channel, std::uint32_t tap) const {
    return record(channel) + (4 + tap) * block() + channel % block();
  }
  [[nodiscard]] constexpr std::uint32_t multiplier_index(std::uint32_t channel) const {
    return record(channel) + (4 + taps) * block() + 4 * slot(channel);
  }
  [[nodiscard]] constexpr std::uint32_t shifts_at() const { return (8 + taps) * block(); }
  [[nodiscard]] constexpr std::uint32_t right_shift_index(std::uint32_t channel) const {  // zero or negative
    return record(channel) + shifts_at() + slot(channel);
  }
  [[nodiscard]] constexpr std::uint32_t left_shift_index(std::uint32_t channel) const {  // zero or positive
    return right_shift_index(channel) + block();
  }
};

// MVE 3×3 keeps the three input rows under the window in scratch, with padding around them and channels filled up to
// whole vectors: then there is no border in the inner loop. Each row is copied once, 3 instructions for 16 bytes,
// against some 120 that compute 16 bytes of output.
struct Rows {
  std::uint32_t width;  // in pixels
  std::uint32_t pixel;  // bytes from one pixel to the next
  std::uint32_t row;    // bytes from one row to the next; vectors reach up to 15 bytes beyond the last of packed pixels

  constexpr Rows(const Variant& variant, const conv::Geometry& g)
      : width((g.out_width - 1U) * g.stride_width + 3),
        pixel(packs_pixels(variant, g) ? g.in_channels : (g.in_channels + 15U) / 16 * 16),
        row((width * pixel + 15 + 15) / 16 * 16) {}
};
// Others: where the taps of a pixel lie, then a row of zero points.
constexpr std::uint32_t tap_table_bytes(const conv::Geometry& g) { return (4 * g.taps() + 15U) / 16 * 16; }
constexpr std::uint32_t scratch_bytes(const Variant& variant, const conv::Geometry& g) {
  // Behind the rows there is room for a pixel whose vectors would reach beyond the output.
  if (variant.is_3x3) return 3 * Rows(variant, g).row + (g.in_channels + 15U) / 16 * 16;
  return tap_table_bytes(g) + (g.in_channels + 15U) / 16 * 16;
}

// What CMSIS-NN's arm_depthwise_conv_wrapper_s8_get_buffer_size says, which ExecuTorch's kernel demands to the byte.
// For more than one input channel: with one, the convolution is not depthwise here.
constexpr std::uint32_t upstream_scratch_bytes(Isa isa, const conv::Geometry& g) {
  constexpr std::uint32_t kMveChannels = 124;  // channels that its MVE kernel copies at a time
  if (g.in_channels != g.out_channels || g.batch != 1 || g.dilation_height != 1 || g.dilation_width != 1) return 0;
  if (isa == Isa::mve) return 4 * kMveChannels * g.taps();
  const bool is_3x3 = g.kernel_height == 3 && g.kernel_width == 3 && g.pad_top <= 1 && g.pad_left <= 1;
  return isa == Isa::scalar || is_3x3 ? 0 : 2 * g.patch();
}

}  // namespace cormorant::ops::depthwise
