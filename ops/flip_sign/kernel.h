// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/flip_sign/flip_sign.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

struct FlipSignPlan {
  static constexpr std::uint32_t kStateBytes = 12;
  const std::int8_t* input;  // may be the output
  std::int8_t* output;       // both start at whole words
  std::uint32_t count;
};

Error load_flip_sign(Call& call);

}  // namespace cormorant::ops
