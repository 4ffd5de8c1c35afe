// SPDX-License-Identifier: Apache-2.0
//
// rows.h with the product that a CPU without SIMD does best.
#pragma once

#include "kernels/requantize.h"
#include "ops/layer_norm/rows.h"

namespace cormorant::ops::layer_norm {

inline std::int32_t quick_scalar(std::int32_t doubled, std::int32_t factor) {
  const std::int64_t product = std::int64_t{doubled} * factor;
  return static_cast<std::int32_t>(product >> 32) +
         static_cast<std::int32_t>(static_cast<std::uint32_t>(product) >> 31);
}

template <auto Statistics, class Element>
void normalize_rows_scalar(const PlanOf<Element>& plan) {
  if constexpr (kHasLongMultiply) {
    normalize_rows_quickly<quick_scalar, Statistics>(plan);
  } else {
    normalize_rows<doubling_high_multiply_in_pieces, Statistics>(plan);
  }
}

}  // namespace cormorant::ops::layer_norm
