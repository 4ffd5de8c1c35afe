// SPDX-License-Identifier: Apache-2.0
//
// Transposed convolution: every input pixel adds its window to the output, windows `stride` apart. Two program forms:
//   cortex_m::quantized_transpose_conv2d.out   ExecuTorch's, weights as OHWI (of a grouped one, I is a group's inputs)
//   cormorant::transpose_conv2d.<variant>      one packed constant
//
// Seen from the output, pixels whose distance is a multiple of the stride see the same taps: each of these stride²
// phases is an ordinary convolution with stride 1 whose results are interleaved with the others'. So the packed
// constant is a list of conv2d's packed constants (or depthwise_conv2d's), and no accumulator ever leaves its register:
//   Header, then for each phase: Phase, conv::Header, the stream, padded to 16 bytes
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/nibbles.h"
#include "ops/depthwise_conv2d/depthwise_conv2d.h"
#include "ops/load/kernel_list.h"

// _nhwc is the same with explicit layout: input and out are logically N, H, W, C.
#define CORMORANT_TRANSPOSE_CONV2D_KERNELS(OURS, THEIRS, FOREIGN)                                                   \
  THEIRS(cortex_m, quantized_transpose_conv2d, out, scalar_dsp_mve, load_direct, execute_direct, w8a8,              \
         QuantizedTransposeConv2d)                                                                                  \
  THEIRS(cortex_m, quantized_transpose_conv2d_nhwc, out, scalar_dsp_mve, load_direct_nhwc, execute_direct, w8a8,    \
         QuantizedTransposeConv2d)                                                                                  \
  OURS(transpose_conv2d, scalar, scalar, load_scalar, execute_scalar, w8a8, conv2d::PackedConv2d)                   \
  OURS(transpose_conv2d, v6m, scalar, load_v6m, execute_v6m, w8a8, conv2d::PackedConv2d)                            \
  OURS(transpose_conv2d, scalar_depthwise, scalar, load_scalar_depthwise, execute_scalar_depthwise, w8a8,           \
       conv2d::PackedConv2d)                                                                                        \
  OURS(transpose_conv2d, dsp, dsp, load_dsp, execute_dsp, w8a8, conv2d::PackedConv2d)                               \
  OURS(transpose_conv2d, dsp_depthwise, dsp, load_dsp_depthwise, execute_dsp_depthwise, w8a8, conv2d::PackedConv2d) \
  OURS(transpose_conv2d, mve, mve, load_mve, execute_mve, w8a8, conv2d::PackedConv2d)                               \
  OURS(transpose_conv2d, scalar_nibbles, scalar_words, load_scalar_nibbles, execute_scalar_nibbles, w4a8,           \
       conv2d::PackedConv2d)                                                                                        \
  OURS(transpose_conv2d, dsp_nibbles, dsp_words, load_dsp_nibbles, execute_dsp_nibbles, w4a8, conv2d::PackedConv2d) \
  OURS(transpose_conv2d, mve_nibbles, mve_words, load_mve_nibbles, execute_mve_nibbles, w4a8, conv2d::PackedConv2d)
CORMORANT_NAMES(CORMORANT_TRANSPOSE_CONV2D_KERNELS)

namespace cormorant::ops::transpose_conv2d {

template <class W>
struct QuantizedTransposeConv2d {
  typename W::Tensor input{};
  typename W::Tensor weight{};
  typename W::OptionalTensor bias{};
  typename W::IntPair stride{};
  typename W::IntPair padding{};
  typename W::IntPair output_padding{};
  typename W::IntPair dilation{};
  typename W::Int input_offset{};
  typename W::Int output_offset{};
  typename W::Tensor requantize_multipliers{};
  typename W::Tensor requantize_shifts{};
  typename W::Int activation_min{};
  typename W::Int activation_max{};
  typename W::Scratch scratch{};
  typename W::Scratch output_scratch{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, weight, bias, stride, padding, output_padding, dilation, input_offset, output_offset,
                   requantize_multipliers, requantize_shifts, activation_min, activation_max, scratch, output_scratch,
                   out)
};

// The layouts are those of conv2d's variants for windows of any size.
struct Variant {
  const char* name;              // of the program
  const conv2d::Variant* phase;  // what its phases are; or
  const depthwise::Variant* depthwise_phase = nullptr;
  const conv2d::nibbles::Variant* nibbles_phase = nullptr;
};
inline constexpr Variant kMve{names::cormorant_transpose_conv2d_mve, &conv2d::kMveKxk};
inline constexpr Variant kDsp{names::cormorant_transpose_conv2d_dsp, &conv2d::kDspGroups};
inline constexpr Variant kScalar{names::cormorant_transpose_conv2d_scalar, &conv2d::kScalar};
inline constexpr Variant kV6m{names::cormorant_transpose_conv2d_v6m, &conv2d::kV6m};
inline constexpr Variant kDspDepthwise{names::cormorant_transpose_conv2d_dsp_depthwise, nullptr, &depthwise::kDsp};
inline constexpr Variant kScalarDepthwise{names::cormorant_transpose_conv2d_scalar_depthwise, nullptr,
                                          &depthwise::kScalar};
// With 4-bit weights, unpacked phase by phase.
inline constexpr Variant kMveNibbles{names::cormorant_transpose_conv2d_mve_nibbles, nullptr, nullptr,
                                     &conv2d::nibbles::kMve};
inline constexpr Variant kDspNibbles{names::cormorant_transpose_conv2d_dsp_nibbles, nullptr, nullptr,
                                     &conv2d::nibbles::kDsp};
inline constexpr Variant kScalarNibbles{names::cormorant_transpose_conv2d_scalar_nibbles, nullptr, nullptr,
                                        &conv2d::nibbles::kScalar};

// Depthwise: every input channel has its own window. (MVE's depthwise kernels write whole vectors, which would
// overwrite the pixels of other phases.)
constexpr const Variant& choose_variant(const Target& target, bool is_depthwise) {
  if (target.isa == Isa::mve) return kMve;
  if (is_depthwise) return target.isa == Isa::dsp ? kDspDepthwise : kScalarDepthwise;
  if (target.isa == Isa::dsp) return kDsp;
  return conv2d::is_baseline(target) ? kV6m : kScalar;
}

inline constexpr const Variant* kVariants[] = {
    &kMve, &kDsp, &kScalar, &kV6m, &kDspDepthwise, &kScalarDepthwise, &kMveNibbles, &kDspNibbles, &kScalarNibbles};

// None for ARMv6-M, where weights stay one to a byte: what unpacks them would take the stack beyond its bound.
constexpr const Variant* choose_nibbles_variant(const Target& target) {
  if (target.isa == Isa::mve) return &kMveNibbles;
  if (target.isa == Isa::dsp) return &kDspNibbles;
  return conv2d::is_baseline(target) ? nullptr : &kScalarNibbles;
}

// Whether a variant computes a phase of this geometry.
constexpr bool is_computable(const Variant& variant, const conv::Geometry& g) {
  if (variant.nibbles_phase != nullptr) return conv2d::nibbles::is_computable(*variant.nibbles_phase, g);
  if (variant.phase != nullptr) return conv2d::is_computable(*variant.phase, g);
  return depthwise::is_computable(*variant.depthwise_phase, g);
}
constexpr CheckedSize phase_scratch_bytes(const Variant& variant, const conv::Geometry& g) {
  if (variant.nibbles_phase != nullptr) return conv2d::nibbles::scratch_bytes(*variant.nibbles_phase, g);
  return variant.phase != nullptr ? conv2d::scratch_bytes(*variant.phase, g)
                                  : depthwise::scratch_bytes(*variant.depthwise_phase, g);
}

struct alignas(16) Header {
  std::uint16_t out_height = 0;
  std::uint16_t out_width = 0;
  std::uint16_t stride_height = 0;
  std::uint16_t stride_width = 0;
  std::uint16_t phases = 0;
  std::int8_t activation_min = -128;
  std::int8_t activation_max = 127;
  std::uint32_t zero = 0;
};
static_assert(sizeof(Header) == 16);

struct alignas(16) Phase {
  std::uint16_t y = 0;  // of its first output pixel
  std::uint16_t x = 0;
  std::uint32_t bytes = 0;  // of the header and the stream after it, padded
  std::uint64_t zero = 0;
};
static_assert(sizeof(Phase) == 16);

// What CMSIS-NN's arm_transpose_conv_s8_get_buffer_size and …_get_reverse_conv_buffer_size return, which ExecuTorch's
// kernel requires to the byte.
struct UpstreamScratch {
  std::uint32_t scratch;
  std::uint32_t output_scratch;
};
struct UpstreamShape {
  std::uint32_t in_width, in_channels, out_channels, kernel_height, kernel_width, stride_height, stride_width;
};
constexpr UpstreamScratch upstream_scratch_bytes(Isa isa, const UpstreamShape& s) {
  constexpr std::uint32_t kReverseAbove =
      16;  // input channels from which on it runs a convolution of the reversed kernel
  const auto larger = [](std::uint32_t a, std::uint32_t b) { return a > b ? a : b; };
  const std::uint32_t patch = s.kernel_height * s.kernel_width * s.in_channels;
  if (s.stride_height <= 2 && s.stride_width <= 2 && s.in_channels > kReverseAbove) {
    return {4 * conv2d::round_up(patch, isa == Isa::mve ? 16 : 4), patch * s.out_channels};
  }
  // The stride that widens a row is the vertical one there, too.
  const std::uint32_t row = (s.in_width - 1) * s.stride_width + larger(s.kernel_width, s.stride_height);
  return {4 * row * s.out_channels * larger(s.kernel_height, s.stride_height), 0};
}

}  // namespace cormorant::ops::transpose_conv2d
