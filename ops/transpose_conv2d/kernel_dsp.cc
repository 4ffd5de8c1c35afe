// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_clamp_dsp.h"
#include "ops/transpose_conv2d/kernel.h"

namespace cormorant::ops::transpose_conv2d {
namespace {

template <void (*Convolve)(const conv2d::Convolution&)>
void execute(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  for_phases(plan, Convolve);
  conv::clamp_bytes_dsp(plan.out, plan.out_bytes, plan.header->activation_min, plan.header->activation_max);
}

void execute_direct(const void* raw) { conv::transpose_direct(*static_cast<const conv::Direct*>(raw)); }

}  // namespace
}  // namespace cormorant::ops::transpose_conv2d

using namespace cormorant::ops::transpose_conv2d;  // NOLINT(google-build-using-namespace)
CORMORANT_KERNEL(cormorant_transpose_conv2d_dsp, kDsp.name, load_dsp, execute<cormorant::ops::conv2d::convolve_dsp>)
CORMORANT_KERNEL(cormorant_transpose_conv2d_dsp_depthwise, kDspDepthwise.name, load_dsp_depthwise,
                 execute<cormorant::ops::depthwise::convolve_dsp>)
CORMORANT_KERNEL(cortex_m_quantized_transpose_conv2d_out_dsp, "cortex_m::quantized_transpose_conv2d.out", load_direct,
                 execute_direct)
CORMORANT_KERNEL(cortex_m_quantized_transpose_conv2d_nhwc_out_dsp, "cortex_m::quantized_transpose_conv2d_nhwc.out",
                 load_direct_nhwc, execute_direct)
