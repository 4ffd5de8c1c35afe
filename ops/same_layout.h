// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/tensor.h"

namespace cormorant::ops {

// Same sizes, and the same order in memory of all dimensions that have more than one index: what an elementwise kernel
// asks of its tensors before it treats them as rows of bytes.
inline bool same_layout(const Tensor& a, const Tensor& b) {
  if (a.rank != b.rank) return false;
  for (std::size_t i = 0; i < a.rank; ++i) {
    if (a.sizes[i] != b.sizes[i]) return false;
  }
  std::size_t j = 0;
  for (std::size_t i = 0; i < a.rank; ++i) {
    if (a.sizes[a.dim_order[i]] == 1) continue;
    while (b.sizes[b.dim_order[j]] == 1) ++j;
    if (a.dim_order[i] != b.dim_order[j]) return false;
    ++j;
  }
  return true;
}

}  // namespace cormorant::ops
