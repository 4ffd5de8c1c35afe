// SPDX-License-Identifier: Apache-2.0
#include "ops/max_pool2d/kernel.h"

namespace cormorant::ops {
namespace {

void execute(const void* plan) { execute_max_pool2d(*static_cast<const MaxPoolPlan*>(plan), window_max_scalar); }

}  // namespace
}  // namespace cormorant::ops

CORMORANT_KERNEL(cortex_m_quantized_max_pool2d_out_scalar, "cortex_m::quantized_max_pool2d.out",
                 cormorant::ops::load_max_pool2d, cormorant::ops::execute)
CORMORANT_KERNEL(cortex_m_quantized_max_pool2d_nhwc_out_scalar, "cortex_m::quantized_max_pool2d_nhwc.out",
                 cormorant::ops::load_max_pool2d_nhwc, cormorant::ops::execute)
