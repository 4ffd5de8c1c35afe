// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/clamp/float.h"
#include "ops/clamp/kernel.h"
#include "ops/host/references.h"

namespace cormorant::ops {
namespace {

void execute(const void* plan) {
  const auto& p = *static_cast<const ClampPlan*>(plan);
  for (std::uint32_t i = 0; i < p.count; ++i) p.output[i] = std::clamp(p.input[i], p.low, p.high);
}

}  // namespace

CORMORANT_REFERENCES(clamp, CORMORANT_CLAMP_KERNELS)

}  // namespace cormorant::ops
