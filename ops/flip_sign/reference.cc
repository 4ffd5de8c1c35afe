// SPDX-License-Identifier: Apache-2.0
#include "ops/flip_sign/kernel.h"
#include "ops/host/references.h"

namespace cormorant::ops {
namespace {

// 0 is the lowest of uint8, -128 of int8, and so on up.
void execute(const void* plan) {
  const auto& p = *static_cast<const FlipSignPlan*>(plan);
  for (std::uint32_t i = 0; i < p.count; ++i) p.output[i] = static_cast<std::int8_t>(p.input[i] + 128);
}

}  // namespace

CORMORANT_REFERENCES(flip_sign, CORMORANT_FLIP_SIGN_KERNELS)

}  // namespace cormorant::ops
