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

bool Tensor::lies_like(const Tensor& other) const {
  if (rank != other.rank) return false;
  for (std::size_t i = 0; i < rank; ++i) {
    if (sizes[i] != other.sizes[i]) return false;
  }
  // Dimensions with one index have no place in memory.
  std::size_t j = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    if (sizes[dim_order[i]] == 1) continue;
    while (other.sizes[other.dim_order[j]] == 1) ++j;
    if (dim_order[i] != other.dim_order[j]) return false;
    ++j;
  }
  return true;
}

}  // namespace cormorant
