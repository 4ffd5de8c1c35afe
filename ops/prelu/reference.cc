// SPDX-License-Identifier: Apache-2.0
#include "ops/host/references.h"
#include "ops/load/float_binary.h"
#include "ops/prelu/kernel.h"

namespace cormorant::ops::prelu {
namespace {

void execute(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  for_each_stretch(p.tensors, [&](const std::int8_t* input, const std::int8_t* other, std::int8_t* out) {
    const auto* factors = reinterpret_cast<const std::int32_t*>(other);
    for (std::uint32_t i = 0; i < p.tensors.count; ++i)
      out[i] = prelu_one(p, input[i], factors[p.tensors.other_repeats ? 0 : i]);
  });
}

}  // namespace

CORMORANT_REFERENCES(prelu, CORMORANT_PRELU_KERNELS)

}  // namespace cormorant::ops::prelu
