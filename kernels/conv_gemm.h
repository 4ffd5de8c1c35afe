// SPDX-License-Identifier: Apache-2.0
//
// The matrix product of every packed convolution: the patches of a few pixels times all output channels, then
// requantization. One loop per instruction set, over the packed stream that ops/conv2d/conv2d.h describes.
#pragma once

#include <cstdint>

#include "base/fixed_point.h"
#include "kernels/conv_geometry.h"

namespace cormorant::conv {

// What follows accumulation: add the offset, then clamp.
struct Output {
  std::int32_t offset;
  std::int32_t min;
  std::int32_t max;
  Rounding rounding;
};

inline Output output_of(const Header& header) {
  return {header.output_offset, header.activation_min, header.activation_max, header.rounding};
}

// Kernels whose assembly only saturates to int8 clamp their whole output afterwards if a layer's range is narrower.
inline void clamp_bytes(std::int8_t* at, std::uint32_t count, std::int32_t min, std::int32_t max) {
  if (min == -128 && max == 127) return;
  for (; count > 0; --count, ++at) *at = static_cast<std::int8_t>(clamp(*at, min, max));
}
inline void clamp_output(const Header& header, std::int8_t* at) {
  clamp_bytes(at, header.geometry.out_pixels() * header.geometry.out_channels, header.activation_min,
              header.activation_max);
}

// MVE, 4 channels × 2 pixels. Reads `chunks` · 16 bytes of each patch and writes 4 · `blocks` channels of each pixel,
// then continues with the next pair of pixels: patches are `in_step` bytes further, outputs `out_step`.
struct MveGemm {
  const std::uint8_t* stream;
  const std::int8_t* patch0;
  const std::int8_t* patch1;
  std::int8_t* out0;
  std::int8_t* out1;
  std::uint32_t chunks;
  std::uint32_t blocks;
  std::uint32_t pairs;
  std::uint32_t in_step;
  std::uint32_t out_step;
  Output output;
};
extern "C" void cormorant_conv_gemm_mve(const MveGemm* gemm);
// With a second multiplier per channel for sums below zero, here and below, for a PReLU after the convolution.
extern "C" void cormorant_conv_gemm_prelu_mve(const MveGemm* gemm);
// The same in intrinsics: documentation of the assembly, and its test oracle.
void conv_gemm_mve_plain(const MveGemm& gemm);

// DSP, 2 channels × 3 pixels: for every four elements of the three patches, `patches` holds the words (0, 2) of each,
// then the words (1, 3) of each, as SXTB16 leaves them. Pixel i is written to out + i · out_step.
struct DspGemm {
  const std::uint8_t* stream;
  const std::uint32_t* patches;
  std::int8_t* out;
  std::uint32_t out_step;
  std::uint32_t quads;  // elements / 4
  std::uint32_t channels;
  Output output;
};
// Channels in pairs; `channels` is even. Saturates, but does not clamp further.
extern "C" void cormorant_conv_gemm_right_dsp(const DspGemm* gemm);     // all of Rounding
extern "C" void cormorant_conv_gemm_positive_dsp(const DspGemm* gemm);  // Rounding::positive
extern "C" void cormorant_conv_gemm_prelu_dsp(const DspGemm* gemm);     // all of Rounding
// The same with 16-bit weights.
extern "C" void cormorant_conv_gemm_right_dsp_wide(const DspGemm* gemm);
extern "C" void cormorant_conv_gemm_positive_dsp_wide(const DspGemm* gemm);
// The same with the clamp, for any number of channels: documentation of the assembly, and for an odd last channel.
void conv_gemm_dsp_plain(const DspGemm& gemm);
void conv_gemm_prelu_dsp_plain(const DspGemm& gemm);
void conv_gemm_dsp_wide_plain(const DspGemm& gemm);

// Thumb-2 without DSP, 2 channels × 3 pixels; `patches` holds element k of the three patches as 32-bit integers, for
// each k in turn. Pixel i is written to out + i · out_step.
struct ScalarGemm {
  const std::uint8_t* stream;
  const std::int32_t* patches;
  std::int8_t* out;
  std::uint32_t out_step;
  std::uint32_t elements;  // even
  std::uint32_t channels;
  Output output;
};
// Channels in pairs; `channels` is even. Saturates, but does not clamp further. Not for ARMv6-M.
extern "C" void cormorant_conv_gemm_right_scalar(const ScalarGemm* gemm);     // Rounding::right
extern "C" void cormorant_conv_gemm_positive_scalar(const ScalarGemm* gemm);  // Rounding::positive
extern "C" void cormorant_conv_gemm_any_scalar(const ScalarGemm* gemm);       // all of them
extern "C" void cormorant_conv_gemm_prelu_scalar(const ScalarGemm* gemm);     // all of them
// The same with the clamp, for any number of channels: documentation of the assembly, for an odd last channel, and for
// ARMv6-M.
void conv_gemm_scalar_plain(const ScalarGemm& gemm);
void conv_gemm_prelu_scalar_plain(const ScalarGemm& gemm);

// ARMv6-M, 1 channel × 4 pixels, likewise. Weights are stored + 128; `excess`, 128 · Σ elements of each patch, is
// subtracted again.
struct V6mGemm {
  const std::uint8_t* stream;
  const std::int32_t* patches;
  std::int8_t* out;
  std::uint32_t out_step;
  std::uint32_t elements;  // a multiple of 4
  std::uint32_t channels;
  Output output;
  std::int32_t excess[4];
};
// They only saturate.
extern "C" void cormorant_conv_gemm_right_v6m(const V6mGemm* gemm);  // Rounding::right and positive
extern "C" void cormorant_conv_gemm_any_v6m(const V6mGemm* gemm);    // all of them
extern "C" void cormorant_conv_gemm_prelu_v6m(const V6mGemm* gemm);  // all of them

// Without DSP, 1 channel × 4 pixels, two of them in a word: element k of pixels 0 and 1 as x + 2^16 · y, then that of
// pixels 2 and 3. For weights of which no two neighbours (2 k and 2 k + 1) together exceed 255 in magnitude.
struct HalvesGemm {
  const std::uint8_t* stream;
  const std::int32_t* patches;
  std::int8_t* out;
  std::uint32_t out_step;
  std::uint32_t elements;  // a multiple of 4
  std::uint32_t channels;
  Output output;
};
// All of Rounding. They only saturate.
extern "C" void cormorant_conv_gemm_halves_scalar(const HalvesGemm* gemm);  // Thumb-2
extern "C" void cormorant_conv_gemm_halves_v6m(const HalvesGemm* gemm);     // ARMv6-M
extern "C" void cormorant_conv_gemm_prelu_halves_scalar(const HalvesGemm* gemm);
extern "C" void cormorant_conv_gemm_nibbles_scalar(const HalvesGemm* gemm);  // Thumb-2, weights of −8 … 7
extern "C" void cormorant_conv_gemm_prelu_halves_v6m(const HalvesGemm* gemm);

}  // namespace cormorant::conv
