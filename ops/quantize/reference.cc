// SPDX-License-Identifier: Apache-2.0
#include "ops/quantize/reference.h"

#include <cmath>

#include "base/fixed_point.h"
#include "ops/host/references.h"

namespace cormorant::ops {
namespace {

std::int32_t quantize_one(float value, float inverse_scale, std::int32_t zero_point, std::int32_t low,
                          std::int32_t high) {
  float product = value * inverse_scale;
  if (std::isnan(product)) product = 0.0F;
  // Far outside int16, so that the bounds decide; inside int32, so that the conversion is defined.
  product = std::fmin(std::fmax(product, -1048576.0F), 1048576.0F);
  return clamp(static_cast<std::int32_t>(std::nearbyint(product)) + zero_point, low, high);
}

void execute(const void* plan) {
  const auto& p = *static_cast<const QuantizePlan*>(plan);
  for (std::uint32_t i = 0; i < p.count; ++i) {
    const std::int32_t q = quantize_one(p.input[i], p.inverse_scale, p.zero_point, p.low, p.high);
    if (p.wide) {
      static_cast<std::int16_t*>(p.output)[i] = static_cast<std::int16_t>(q);
    } else {
      static_cast<std::int8_t*>(p.output)[i] = static_cast<std::int8_t>(q);
    }
  }
}

}  // namespace

std::int32_t quantize_reference(float value, float scale, std::int32_t zero_point, std::int32_t low,
                                std::int32_t high) {
  return quantize_one(value, 1.0F / scale, zero_point, low, high);
}

CORMORANT_REFERENCES(quantize, CORMORANT_QUANTIZE_KERNELS)

}  // namespace cormorant::ops
