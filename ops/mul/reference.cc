// SPDX-License-Identifier: Apache-2.0
#include "base/fixed_point.h"
#include "ops/host/references.h"
#include "ops/load/float_binary.h"
#include "ops/mul/kernel.h"

namespace cormorant::ops::mul {
namespace {

std::int8_t multiply(const Plan& p, std::int8_t self, std::int8_t other) {
  const std::int32_t product = (self - p.self_zero_point) * (other - p.other_zero_point);
  const std::int64_t level = std::int64_t{requantize(product, p.multiplier, p.shift)} + p.output_zero_point;
  if (level < p.activation_min) return p.activation_min;
  return level > p.activation_max ? p.activation_max : static_cast<std::int8_t>(level);
}

void execute(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  for_each_stretch(p.tensors, [&](const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
    for (std::uint32_t i = 0; i < p.tensors.count; ++i)
      out[i] = multiply(p, self[i], other[p.tensors.other_repeats ? 0 : i]);
  });
}

}  // namespace

CORMORANT_REFERENCES(mul, CORMORANT_MUL_KERNELS)

}  // namespace cormorant::ops::mul
