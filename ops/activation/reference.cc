// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/reference.h"

namespace cormorant::ops {
namespace {

void execute(const void* plan) {
  const auto& p = *static_cast<const ActivationPlan*>(plan);
  for (std::uint32_t i = 0; i < p.count; ++i) p.output[i] = p.zero[p.input[i]];
}

}  // namespace

const Kernel kActivationReference = {QuantizedActivation<TargetWorld>::kName, load_activation, execute};

}  // namespace cormorant::ops
