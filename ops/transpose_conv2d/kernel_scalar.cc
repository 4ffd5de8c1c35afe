// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_gemm.h"
#include "ops/transpose_conv2d/kernel.h"

namespace cormorant::ops::transpose_conv2d {
namespace {

void execute_direct(const void* raw) { conv::transpose_direct(*static_cast<const conv::Direct*>(raw)); }

}  // namespace

constexpr auto* execute_scalar = execute_phases<conv2d::convolve_scalar, conv::clamp_bytes>;
constexpr auto* execute_v6m = execute_phases<conv2d::convolve_v6m, conv::clamp_bytes>;
constexpr auto* execute_scalar_depthwise = execute_phases<depthwise::convolve_scalar, conv::clamp_bytes>;
CORMORANT_KERNELS(CORMORANT_TRANSPOSE_CONV2D_KERNELS, scalar)

}  // namespace cormorant::ops::transpose_conv2d
