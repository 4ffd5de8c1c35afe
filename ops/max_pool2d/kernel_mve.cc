// SPDX-License-Identifier: Apache-2.0
#include "ops/max_pool2d/kernel.h"

CORMORANT_KERNEL(cortex_m_quantized_max_pool2d_out_mve, "cortex_m::quantized_max_pool2d.out",
                 cormorant::ops::load_max_pool2d, cormorant::ops::execute_max_pool2d<cormorant::window_max_mve>)
CORMORANT_KERNEL(cortex_m_quantized_max_pool2d_nhwc_out_mve, "cortex_m::quantized_max_pool2d_nhwc.out",
                 cormorant::ops::load_max_pool2d_nhwc, cormorant::ops::execute_max_pool2d<cormorant::window_max_mve>)
