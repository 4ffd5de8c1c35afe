// SPDX-License-Identifier: Apache-2.0
#include "ops/minimum_maximum/kernel.h"

namespace cormorant::ops::minimum_maximum {
namespace {

template <bool kMinimum>
void choose(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const Broadcast& b = static_cast<const Plan*>(plan)->tensors;
  const std::int32_t step = b.other_repeats ? 0 : 1;
  for (const std::int8_t* const end = self + b.count; self != end; ++self, other += step, ++out) {
    const std::int8_t x = *self;
    const std::int8_t y = *other;
    *out = (x < y) == kMinimum ? x : y;
  }
}

void execute_minimum(const void* plan) { run_stretches(static_cast<const Plan*>(plan)->tensors, choose<true>, plan); }
void execute_maximum(const void* plan) { run_stretches(static_cast<const Plan*>(plan)->tensors, choose<false>, plan); }

}  // namespace
}  // namespace cormorant::ops::minimum_maximum

CORMORANT_KERNEL(cortex_m_minimum_out_scalar, "cortex_m::minimum.out", cormorant::ops::minimum_maximum::load,
                 cormorant::ops::minimum_maximum::execute_minimum)
CORMORANT_KERNEL(cortex_m_maximum_out_scalar, "cortex_m::maximum.out", cormorant::ops::minimum_maximum::load,
                 cormorant::ops::minimum_maximum::execute_maximum)
