// SPDX-License-Identifier: Apache-2.0
//
// The plan of a quantize call, for every variant's execute().
#pragma once

#include "ops/quantize/quantize.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

struct QuantizePlan {
  static constexpr std::uint32_t kStateBytes = 24;
  const float* input;
  void* output;  // int8_t, or int16_t if wide
  std::uint32_t count;
  float inverse_scale;
  std::int16_t zero_point;
  std::int16_t low;
  std::int16_t high;
  bool wide;
};

Error load_quantize(Call& call);

}  // namespace cormorant::ops
