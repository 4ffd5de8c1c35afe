// SPDX-License-Identifier: Apache-2.0
//
// rows.h with DSP's high half of a product, rounded.
#pragma once

#include "ops/layer_norm/rows.h"

namespace cormorant::ops::layer_norm {

inline std::int32_t quick_dsp(std::int32_t doubled, std::int32_t factor) {
  std::int32_t product;
  asm("smmulr %0, %1, %2" : "=r"(product) : "r"(doubled), "r"(factor));
  return product;
}

}  // namespace cormorant::ops::layer_norm
