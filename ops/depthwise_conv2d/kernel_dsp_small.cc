// SPDX-License-Identifier: Apache-2.0
//
// depthwise_conv2d.dsp, compiled for size (firmware/CMakeLists.txt).
#include "ops/depthwise_conv2d/execute_dsp.h"

namespace cormorant::ops::depthwise {
namespace {

struct Small : DspMachine {};

void execute_dsp_small(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  convolve_pixels<Small>(conv2d::convolution_of(plan));
  conv::clamp_output_dsp(*plan.header, plan.out);
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_DEPTHWISE_CONV2D_KERNELS, dsp_small)

}  // namespace cormorant::ops::depthwise
