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

constexpr auto* execute_scalar = execute<conv2d::convolve_scalar>;
constexpr auto* execute_v6m = execute<conv2d::convolve_v6m>;
constexpr auto* execute_scalar_depthwise = execute<depthwise::convolve_scalar>;
CORMORANT_KERNELS(CORMORANT_TRANSPOSE_CONV2D_KERNELS, scalar)

}  // namespace cormorant::ops::transpose_conv2d
