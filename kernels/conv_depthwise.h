// SPDX-License-Identifier: Apache-2.0
//
// All channels of one output pixel of a depthwise convolution, from pointers to the input under each tap: taps outside
// the input point to a row of zero points, so that loops need not know the image's edge. The packed stream is described
// in ops/depthwise_conv2d/depthwise_conv2d.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/conv_gemm.h"

namespace cormorant::conv {

// The cheapest requantization on MVE that suffices for a layer.
enum class MveRequantize : std::uint32_t {
  general = 0,   // everything
  positive = 1,  // Rounding::positive without a clamp beyond saturation
  right = 2,     // Rounding::right
};

struct DepthwisePixel {
  const std::uint8_t* stream;
  const std::int8_t* const* taps;
  std::uint32_t tap_count;
  std::uint32_t channels;
  std::int8_t* out;
  Output output;
  std::uint32_t shift = 0;  // bytes by which every tap has moved since the table was filled
  std::uint32_t pairs = 0;  // MVE: taps whose products may be added in 16 bits, two by two; the rest one by one
};
// As the assembly reads it.
static_assert(sizeof(void*) != 4 ||
              (offsetof(DepthwisePixel, stream) == 0 && offsetof(DepthwisePixel, taps) == 4 &&
               offsetof(DepthwisePixel, tap_count) == 8 && offsetof(DepthwisePixel, channels) == 12 &&
               offsetof(DepthwisePixel, out) == 16 && offsetof(DepthwisePixel, output.offset) == 20 &&
               offsetof(DepthwisePixel, output.min) == 24 && offsetof(DepthwisePixel, output.max) == 28 &&
               offsetof(DepthwisePixel, shift) == 36 && offsetof(DepthwisePixel, pairs) == 40));

// MVE: whole vectors of channels, read and written up to 15 bytes beyond the last one.
extern "C" void cormorant_depthwise_mve(const DepthwisePixel* pixel, MveRequantize requantize);
// The same with slopes.
extern "C" void cormorant_depthwise_prelu_mve(const DepthwisePixel* pixel, MveRequantize requantize);
// The same without slopes in intrinsics: documentation of the assembly.
void depthwise_pixel_plain_mve(const DepthwisePixel& pixel);
// DSP multiplies taps in pairs. Offset of a weight after the four biases of its block, in bytes: for a pair of taps,
// the first two channels of both, then the other two; an odd last tap is one word.
constexpr std::uint32_t pair_weight_index(std::uint32_t taps, std::uint32_t tap, std::uint32_t lane) {
  if (tap == taps - 1 && taps % 2 != 0) return tap * 4 + lane;
  return tap / 2 * 8 + lane / 2 * 4 + tap % 2 * 2 + lane % 2;
}
// The same with 16-bit weights: the pair of each channel; for an odd last tap, channels 0 and 2, then 1 and 3.
constexpr std::uint32_t wide_pair_weight_index(std::uint32_t taps, std::uint32_t tap, std::uint32_t lane) {
  if (tap == taps - 1 && taps % 2 != 0) return tap * 8 + lane % 2 * 4 + lane / 2 * 2;
  return tap / 2 * 16 + lane * 4 + tap % 2 * 2;
}

// Channels from `first` on, a multiple of four, in plain loops: any rounding, and the clamp.
void depthwise_pixel_plain_dsp(const DepthwisePixel& pixel, std::uint32_t first);
void depthwise_pixel_plain_dsp_wide(const DepthwisePixel& pixel, std::uint32_t first);
void depthwise_pixel_plain_scalar(const DepthwisePixel& pixel, std::uint32_t first);
void depthwise_pixel_prelu_plain_dsp(const DepthwisePixel& pixel, std::uint32_t first);
void depthwise_pixel_prelu_plain_scalar(const DepthwisePixel& pixel, std::uint32_t first);

// Whole blocks of four channels in assembly, for Rounding::right and positive. Saturates, but does not clamp further.
extern "C" void cormorant_depthwise_pixel_dsp(const DepthwisePixel* pixel);
extern "C" void cormorant_depthwise_pixel_dsp_wide(const DepthwisePixel* pixel);
extern "C" void cormorant_depthwise_3x3_positive_dsp_wide(const DepthwisePixel* pixel);  // nine taps, positive only
extern "C" void cormorant_depthwise_pixel_thumb2(const DepthwisePixel* pixel);           // not for ARMv6-M
extern "C" void cormorant_depthwise_pixel_small_v6m(const DepthwisePixel* pixel);        // sums below kSmallSumV6m
// The same for all of Rounding.
extern "C" void cormorant_depthwise_pixel_any_dsp(const DepthwisePixel* pixel);
extern "C" void cormorant_depthwise_pixel_any_thumb2(const DepthwisePixel* pixel);
extern "C" void cormorant_depthwise_pixel_any_v6m(const DepthwisePixel* pixel);
// The same with slopes.
extern "C" void cormorant_depthwise_pixel_prelu_dsp(const DepthwisePixel* pixel);
extern "C" void cormorant_depthwise_pixel_prelu_thumb2(const DepthwisePixel* pixel);
extern "C" void cormorant_depthwise_pixel_prelu_v6m(const DepthwisePixel* pixel);

// MVE, 3×3: a line of output pixels, in blocks of 16 channels, from nine pointers that walk along the input. Each block
// takes 16 bytes from each pointer; after a pixel, each group of three skips by its `tap_steps` (those in rows outside
// the input go back to the zero points). Stores are whole vectors; after a pixel the output skips by `out_step`, which
// is negative if the last block of channels is not full: the next pixel then overwrites the excess.
struct MveDepthwise3x3 {
  const std::uint8_t* stream;
  const std::int8_t* taps[9];
  std::int8_t* out;
  std::uint32_t blocks;
  std::uint32_t pixels;
  std::int32_t tap_steps[3];
  std::int32_t out_step;
  std::int32_t offset;
  std::int32_t min;
  std::int32_t max;
  MveRequantize requantize;
};
extern "C" void cormorant_depthwise_3x3_mve(const MveDepthwise3x3* line);

}  // namespace cormorant::conv
