// SPDX-License-Identifier: Apache-2.0
#include "kernels/requantize.h"
#include "ops/layer_norm/rows.h"

namespace cormorant::ops::layer_norm {
namespace {

inline std::int32_t quick(std::int32_t doubled, std::int32_t factor) {
  const std::int64_t product = std::int64_t{doubled} * factor;
  return static_cast<std::int32_t>(product >> 32) +
         static_cast<std::int32_t>(static_cast<std::uint32_t>(product) >> 31);
}

void execute(const void* raw) {
  const auto& plan = *static_cast<const Plan*>(raw);
  if constexpr (kHasLongMultiply) {
    normalise_rows_quickly<quick, plain_statistics>(plan);
  } else {
    normalise_rows<doubling_high_multiply_in_pieces, plain_statistics>(plan);
  }
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_LAYER_NORM_KERNELS, scalar)

}  // namespace cormorant::ops::layer_norm
