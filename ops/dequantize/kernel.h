// SPDX-License-Identifier: Apache-2.0
//
// The plan of a dequantize call, for every variant's execute().
#pragma once

#include "ops/dequantize/dequantize.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

struct DequantizePlan {
  static constexpr std::uint32_t kStateBytes = 20;
  const void* input;  // int8_t, or int16_t if wide
  float* output;
  std::uint32_t count;
  float scale;
  std::int16_t zero_point;
  bool wide;
};

Error load_dequantize(Call& call);

}  // namespace cormorant::ops
