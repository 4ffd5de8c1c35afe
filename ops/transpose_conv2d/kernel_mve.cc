// SPDX-License-Identifier: Apache-2.0
#include "ops/transpose_conv2d/kernel.h"

namespace cormorant::ops::transpose_conv2d {
namespace {

void execute(const void* raw) { for_phases(*static_cast<const PackedPlan*>(raw), conv2d::convolve_mve); }

void execute_direct(const void* raw) { conv::transpose_direct(*static_cast<const conv::Direct*>(raw)); }

}  // namespace
}  // namespace cormorant::ops::transpose_conv2d

using namespace cormorant::ops::transpose_conv2d;  // NOLINT(google-build-using-namespace)
CORMORANT_KERNEL(cormorant_transpose_conv2d_mve, kMve.name, load_mve, execute)
CORMORANT_KERNEL(cortex_m_quantized_transpose_conv2d_out_mve, "cortex_m::quantized_transpose_conv2d.out", load_direct,
                 execute_direct)
CORMORANT_KERNEL(cortex_m_quantized_transpose_conv2d_nhwc_out_mve, "cortex_m::quantized_transpose_conv2d_nhwc.out",
                 load_direct_nhwc, execute_direct)
