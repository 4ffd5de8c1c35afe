// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_direct.h"
#include "ops/depthwise_conv2d/execute_dsp.h"

namespace cormorant::ops::depthwise {
namespace {

struct Dsp : DspMachine {};

void execute_packed(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  depthwise::convolve_dsp(conv2d::convolution_of(plan));
  if (plan.header->rounding != conv::Rounding::general) conv::clamp_output_dsp(*plan.header, plan.out);
}

// Never with general rounding.
void execute_wide(const void* raw) {
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

}  // namespace cormorant::ops::depthwise

using namespace cormorant::ops::depthwise;  // NOLINT(google-build-using-namespace)
CORMORANT_KERNEL(cormorant_depthwise_conv2d_dsp, kDsp.name, load_dsp, execute_packed)
CORMORANT_KERNEL(cormorant_depthwise_conv2d_dsp_wide, kDspWide.name, load_dsp_wide, execute_wide)
CORMORANT_KERNEL(cortex_m_quantized_depthwise_conv2d_out_dsp, "cortex_m::quantized_depthwise_conv2d.out", load_direct,
                 execute_direct)
CORMORANT_KERNEL(cortex_m_quantized_depthwise_conv2d_nhwc_out_dsp, "cortex_m::quantized_depthwise_conv2d_nhwc.out",
                 load_direct_nhwc, execute_direct)
