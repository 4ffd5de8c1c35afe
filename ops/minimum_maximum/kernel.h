// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/broadcast.h"
#include "ops/minimum_maximum/minimum_maximum.h"
#include "runtime/kernel.h"

namespace cormorant::ops::minimum_maximum {

// The operands may have been swapped, so that self never repeats along a stretch.
struct Plan {
  static constexpr std::uint32_t kStateBytes = 24;
  Broadcast tensors;
};

Error load(Call& call);
Error load_words(Call& call);

}  // namespace cormorant::ops::minimum_maximum
