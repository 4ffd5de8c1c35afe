// SPDX-License-Identifier: Apache-2.0
#include "ops/dequantize/reference.h"

#include "ops/host/references.h"

namespace cormorant::ops {

float dequantize_reference(std::int32_t value, float scale, std::int32_t zero_point) {
  return static_cast<float>(value - zero_point) * scale;
}

namespace {

void execute(const void* plan) {
  const auto& p = *static_cast<const DequantizePlan*>(plan);
  for (std::uint32_t i = 0; i < p.count; ++i) {
    const std::int32_t value =
        p.wide ? static_cast<const std::int16_t*>(p.input)[i] : static_cast<const std::int8_t*>(p.input)[i];
    p.output[i] = dequantize_reference(value, p.scale, p.zero_point);
  }
}

}  // namespace

CORMORANT_REFERENCES(dequantize, CORMORANT_DEQUANTIZE_KERNELS)

}  // namespace cormorant::ops
