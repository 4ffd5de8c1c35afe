// SPDX-License-Identifier: Apache-2.0
//
// With the FPU that cores of this kind have.
#include "ops/dequantize/kernel.h"

namespace cormorant::ops {
namespace {

template <class T>
void dequantize(const DequantizePlan& p) {
  const auto* input = static_cast<const T*>(p.input);
  const float scale = p.scale;
  const std::int32_t zero_point = p.zero_point;
  for (std::uint32_t i = 0; i < p.count; ++i) p.output[i] = static_cast<float>(input[i] - zero_point) * scale;
}

void execute(const void* plan) {
  const auto& p = *static_cast<const DequantizePlan*>(plan);
  if (p.wide) {
    dequantize<std::int16_t>(p);
  } else {
    dequantize<std::int8_t>(p);
  }
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_DEQUANTIZE_KERNELS, dsp)

}  // namespace cormorant::ops
