// SPDX-License-Identifier: Apache-2.0
//
// What loading a softmax leaves for every variant's execute().
#pragma once

#include "ops/softmax/softmax.h"
#include "runtime/kernel.h"

namespace cormorant::ops::softmax {

struct Plan {
  const std::int8_t* input;
  std::int8_t* out;
  std::uint32_t rows;
  std::uint32_t row_size;
  std::int32_t multiplier;
  std::int16_t diff_min;  // inputs farther below the largest count as 0; −256 keeps all
  std::uint8_t shift;
};

Error load(Call& call);

}  // namespace cormorant::ops::softmax
