// SPDX-License-Identifier: Apache-2.0
#include "base/fixed_point.h"
#include "ops/clamp/kernel.h"

namespace cormorant::ops {
namespace {

void execute(const void* plan) {
  const auto& p = *static_cast<const ClampPlan*>(plan);
  const std::int32_t low = p.low;
  const std::int32_t high = p.high;
  for (std::uint32_t i = 0; i < p.count; ++i) p.output[i] = static_cast<std::int8_t>(clamp(p.input[i], low, high));
}

}  // namespace
}  // namespace cormorant::ops

CORMORANT_KERNEL(cormorant_clamp_scalar, cormorant::ops::kClampScalar, cormorant::ops::load_clamp,
                 cormorant::ops::execute)
