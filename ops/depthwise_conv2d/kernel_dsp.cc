// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_clamp_dsp.h"
#include "kernels/conv_direct.h"
#include "kernels/move.h"
#include "ops/depthwise_conv2d/execute.h"

namespace cormorant::ops::depthwise {
namespace {

struct Dsp {
  static void fill(std::int8_t* to, std::int8_t value, std::uint32_t count) { fill_bytes_dsp(to, value, count); }
  static void spread(std::int8_t* to, const std::int8_t* from, std::uint32_t count, std::uint32_t times) {
    spread_plain(to, from, count, times);
  }
};

void execute_packed(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  if (plan.header->rounding == conv::Rounding::general) {
    for_pixels<Dsp>(plan, kDsp, [](const conv::DepthwisePixel& pixel) { conv::depthwise_pixel_plain_dsp(pixel, 0); });
    return;
  }
  for_pixels<Dsp>(plan, kDsp, [](const conv::DepthwisePixel& pixel) {
    const std::uint32_t whole = pixel.channels & ~3U;
    if (whole != 0) conv::cormorant_depthwise_pixel_dsp(&pixel);
    if (whole != pixel.channels) conv::depthwise_pixel_plain_dsp(pixel, whole);
  });
  conv::clamp_output_dsp(*plan.header, plan.out);
}

void execute_direct(const void* raw) { conv::depthwise_direct(*static_cast<const conv::Direct*>(raw)); }

}  // namespace
}  // namespace cormorant::ops::depthwise

using namespace cormorant::ops::depthwise;  // NOLINT(google-build-using-namespace)
CORMORANT_KERNEL(cormorant_depthwise_conv2d_dsp, kDsp.name, load_dsp, execute_packed)
CORMORANT_KERNEL(cortex_m_quantized_depthwise_conv2d_out_dsp, "cortex_m::quantized_depthwise_conv2d.out", load_direct,
                 execute_direct)
CORMORANT_KERNEL(cortex_m_quantized_depthwise_conv2d_nhwc_out_dsp, "cortex_m::quantized_depthwise_conv2d_nhwc.out",
                 load_direct_nhwc, execute_direct)
