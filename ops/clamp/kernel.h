// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/clamp/clamp.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

struct ClampPlan {
  static constexpr std::uint32_t kStateBytes = 16;
  const std::int8_t* input;  // may be the output
  std::int8_t* output;       // both start at whole words
  std::uint32_t count;
  std::int8_t low;
  std::int8_t high;
};

Error load_clamp(Call& call);
Error load_words_clamp(Call& call);

// Clamps of floats, and of what other compilers leave in their stead: a FloatMapPlan with both bounds.
Error load_float_clamp(Call& call);
Error load_hardtanh(Call& call);
Error load_relu(Call& call);
struct FloatMapPlan;
bool is_int8_clamp(const FloatMapPlan& plan);
void execute_int8_clamp(const FloatMapPlan& plan);

}  // namespace cormorant::ops
