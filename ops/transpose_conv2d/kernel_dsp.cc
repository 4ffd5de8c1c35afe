// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_clamp_dsp.h"
#include "ops/transpose_conv2d/kernel.h"

namespace cormorant::ops::transpose_conv2d {
namespace {

void execute_direct(const void* raw) { conv::transpose_direct(*static_cast<const conv::Direct*>(raw)); }

}  // namespace

constexpr auto* execute_dsp = execute_phases<conv2d::convolve_dsp_groups, conv::clamp_bytes_dsp>;
constexpr auto* execute_dsp_depthwise = execute_phases<depthwise::convolve_dsp, conv::clamp_bytes_dsp>;
CORMORANT_KERNELS(CORMORANT_TRANSPOSE_CONV2D_KERNELS, dsp)

}  // namespace cormorant::ops::transpose_conv2d
