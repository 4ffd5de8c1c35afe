// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/words.h"

namespace cormorant::ops {
namespace {

void execute(const void* plan) { look_up_words(*static_cast<const ActivationPlan*>(plan)); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_ACTIVATION_KERNELS, dsp)

}  // namespace cormorant::ops
