// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_direct.h"
#include "ops/depthwise_conv2d/execute_dsp.h"

namespace cormorant::ops::depthwise {
namespace {

struct Dsp : DspMachine {};

void execute_dsp(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  depthwise::convolve_dsp(conv2d::convolution_of(plan));
  if (plan.header->rounding != conv::Rounding::general) conv::clamp_output_dsp(*plan.header, plan.out);
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

void execute_direct(const void* raw) { conv::depthwise_direct(*static_cast<const conv::Direct*>(raw)); }

}  // namespace

void convolve_dsp(const conv2d::Convolution& c) { convolve_pixels<Dsp>(c); }

CORMORANT_KERNELS(CORMORANT_DEPTHWISE_CONV2D_KERNELS, dsp)

}  // namespace cormorant::ops::depthwise
