// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_direct.h"
#include "ops/depthwise_conv2d/execute_dsp.h"
#include "ops/depthwise_conv2d/nibbles_kernel.h"
#include "ops/depthwise_conv2d/repack.h"

namespace cormorant::ops::depthwise {
namespace {

struct Dsp : DspMachine {};

void execute_dsp(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  depthwise::convolve_dsp(conv2d::convolution_of(plan));
  conv::clamp_output_dsp(*plan.header, plan.out);
}

// Layers with a PReLU.
void execute_dsp_prelu(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  convolve_pixels<Dsp>(conv2d::convolution_of(plan), kDspPrelu, conv::cormorant_depthwise_pixel_prelu_dsp,
                       conv::depthwise_pixel_prelu_plain_dsp);
  conv::clamp_output_dsp(*plan.header, plan.out);
}

// Never with general rounding.
void execute_dsp_wide(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  const bool nine = plan.header->rounding == conv::Rounding::positive && plan.header->geometry.taps() == 9;
  const auto blocks = nine ? conv::cormorant_depthwise_3x3_positive_dsp_wide : conv::cormorant_depthwise_pixel_dsp_wide;
  for_pixels<Dsp>(plan, kDspWide, [blocks](const conv::DepthwisePixel& pixel) {
    const std::uint32_t whole = pixel.channels & ~3U;
    if (whole != 0) blocks(&pixel);
    if (whole != pixel.channels) conv::depthwise_pixel_plain_dsp_wide(pixel, whole);
  });
  conv::clamp_output_dsp(*plan.header, plan.out);
}

void execute_dsp_nibbles(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  convolve_nibbles<nibbles::kDsp, depthwise::convolve_dsp, conv2d::nibbles::unpack_words<false>>(plan);
  conv::clamp_output_dsp(*plan.header, plan.out);
}

void execute_direct(const void* raw) {
  const auto& plan = *static_cast<const conv::Direct*>(raw);
  if (plan.workspace == nullptr) {
    conv::depthwise_direct(plan);
    return;
  }
  if (plan.geometry.in_channels == 1) {
    conv2d::convolve_repacked_dsp(plan, conv2d::hwo_of(plan));
    return;
  }
  convolve_repacked<Layout::dsp, depthwise::convolve_dsp>(plan, kDsp, [](std::uint8_t* at, std::uint32_t bytes) {
    fill_bytes_dsp(reinterpret_cast<std::int8_t*>(at), 0, bytes);
  });
  conv::clamp_bytes_dsp(plan.out, plan.geometry.out_pixels() * plan.geometry.out_channels, plan.activation_min,
                        plan.activation_max);
}

}  // namespace

void convolve_dsp(const conv2d::Convolution& c) { convolve_pixels<Dsp>(c); }

// How programs of other compilers are loaded here.
constexpr auto* load_upstream = load_repacked_dsp;
constexpr auto* load_upstream_nhwc = load_repacked_dsp_nhwc;

CORMORANT_KERNELS(CORMORANT_DEPTHWISE_CONV2D_KERNELS, dsp)

}  // namespace cormorant::ops::depthwise
