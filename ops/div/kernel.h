// SPDX-License-Identifier: Apache-2.0
//
// The plan of a quotient, for every variant's execute().
#pragma once

#include "kernels/broadcast.h"
#include "ops/div/div.h"
#include "runtime/kernel.h"

namespace cormorant::ops::div {

struct Plan {
  static constexpr std::uint32_t kStateBytes = 36;
  Broadcast tensors;
  float scale;
  std::int16_t self_zero_point;
  std::int16_t other_zero_point;
  std::int16_t output_zero_point;
  bool wide;  // int16
};

Error load(Call& call);

struct TablePlan {
  static constexpr std::uint32_t kStateBytes = 36;
  Broadcast tensors;
  const std::int32_t* table;  // its entry for byte 0, so that an int8 is the index
  std::int16_t self_zero_point;
  std::int8_t output_zero_point;
  std::int8_t activation_min;
  std::int8_t activation_max;
};

Error load_table(Call& call);

}  // namespace cormorant::ops::div
