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

constexpr auto* execute_dsp = execute<conv2d::convolve_dsp_groups>;
constexpr auto* execute_dsp_depthwise = execute<depthwise::convolve_dsp>;
CORMORANT_KERNELS(CORMORANT_TRANSPOSE_CONV2D_KERNELS, dsp)

}  // namespace cormorant::ops::transpose_conv2d
