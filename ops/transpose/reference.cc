// SPDX-License-Identifier: Apache-2.0
#include "ops/transpose/reference.h"

#include "ops/host/move_reference.h"
#include "ops/host/references.h"

namespace cormorant::ops {

void transpose_reference(std::size_t rank, const std::int32_t* sizes, const std::int32_t* perm,
                         const std::int8_t* input, std::int8_t* output) {
  std::int32_t total = 1;
  for (std::size_t i = 0; i < rank; ++i) total *= sizes[i];
  for (std::int32_t to = 0; to < total; ++to) {
    std::int32_t at[kMaxRank] = {};  // the element's place in the input
    std::int32_t rest = to;
    for (std::size_t i = rank; i-- > 0;) {
      at[perm[i]] = rest % sizes[perm[i]];
      rest /= sizes[perm[i]];
    }
    std::int32_t from = 0;
    for (std::size_t i = 0; i < rank; ++i) from = from * sizes[i] + at[i];
    output[to] = input[from];
  }
}

CORMORANT_REFERENCES(transpose, CORMORANT_TRANSPOSE_KERNELS)

}  // namespace cormorant::ops
