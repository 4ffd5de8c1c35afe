// SPDX-License-Identifier: Apache-2.0
#include "runtime/tensor.h"

namespace cormorant {

// Not inline: every kernel's load asks, and none of them in a loop.
bool Tensor::is_ordered(std::uint32_t positions) const {
  std::uint32_t last = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t dim = dim_order[i];
    const std::uint32_t position = positions >> (4 * dim) & 0xf;
    if (position < last && sizes[dim] != 1) return false;
    if (sizes[dim] != 1) last = position;
  }
  return true;
}

}  // namespace cormorant
