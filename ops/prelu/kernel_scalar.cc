// SPDX-License-Identifier: Apache-2.0
#include "ops/prelu/kernel.h"

namespace cormorant::ops::prelu {
namespace {

void prelu(const void* plan, const std::int8_t* input, const std::int8_t* other, std::int8_t* out) {
  const Plan p = *static_cast<const Plan*>(plan);  // in registers: a store to out could otherwise change it
  const auto* factors = reinterpret_cast<const std::int32_t*>(other);
  const std::int32_t step = p.tensors.other_repeats ? 0 : 1;
  for (std::uint32_t i = 0; i < p.tensors.count; ++i, factors += step) out[i] = prelu_one(p, input[i], *factors);
}

void execute(const void* plan) { run_stretches(static_cast<const Plan*>(plan)->tensors, prelu, plan); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_PRELU_KERNELS, scalar)

}  // namespace cormorant::ops::prelu
