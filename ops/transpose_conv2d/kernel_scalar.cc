// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_gemm.h"
#include "ops/transpose_conv2d/kernel.h"

namespace cormorant::ops::transpose_conv2d {
namespace {

template <void (*Convolve)(const conv2d::Convolution&)>
void execute(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  for_phases(plan, Convolve);
  conv::clamp_bytes(plan.out, plan.out_bytes, plan.header->activation_min, plan.header->activation_max);
}

void execute_direct(const void* raw) { conv::transpose_direct(*static_cast<const conv::Direct*>(raw)); }

}  // namespace
}  // namespace cormorant::ops::transpose_conv2d

using namespace cormorant::ops::transpose_conv2d;  // NOLINT(google-build-using-namespace)
CORMORANT_KERNEL(cormorant_transpose_conv2d_scalar, kScalar.name, load_scalar,
                 execute<cormorant::ops::conv2d::convolve_scalar>)
CORMORANT_KERNEL(cormorant_transpose_conv2d_v6m, kV6m.name, load_v6m, execute<cormorant::ops::conv2d::convolve_v6m>)
CORMORANT_KERNEL(cormorant_transpose_conv2d_scalar_depthwise, kScalarDepthwise.name, load_scalar_depthwise,
                 execute<cormorant::ops::depthwise::convolve_scalar>)
CORMORANT_KERNEL(cortex_m_quantized_transpose_conv2d_out_scalar, "cortex_m::quantized_transpose_conv2d.out",
                 load_direct, execute_direct)
CORMORANT_KERNEL(cortex_m_quantized_transpose_conv2d_nhwc_out_scalar, "cortex_m::quantized_transpose_conv2d_nhwc.out",
                 load_direct_nhwc, execute_direct)
