// SPDX-License-Identifier: Apache-2.0
#include "ops/clamp/reference.h"

#include <algorithm>

namespace cormorant::ops {
namespace {

void execute(const void* plan) {
  const auto& p = *static_cast<const ClampPlan*>(plan);
  for (std::uint32_t i = 0; i < p.count; ++i) p.output[i] = std::clamp(p.input[i], p.low, p.high);
}

}  // namespace

const Kernel kClampReferences[3] = {
    {kClampScalar, load_clamp, execute}, {kClampDsp, load_clamp, execute}, {kClampMve, load_clamp, execute}};

}  // namespace cormorant::ops
