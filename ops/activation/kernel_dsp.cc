// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/words.h"

namespace cormorant::ops {
namespace {

void execute(const void* plan) { look_up_words(*static_cast<const ActivationPlan*>(plan)); }

}  // namespace
}  // namespace cormorant::ops

CORMORANT_KERNEL(cortex_m_quantized_activation_out_dsp, "cortex_m::quantized_activation.out",
                 cormorant::ops::load_activation, cormorant::ops::execute)
