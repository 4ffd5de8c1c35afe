// SPDX-License-Identifier: Apache-2.0
#include "ops/transpose/reference.h"

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

namespace {

// By the plan; tests hold it against transpose_reference.
void execute(const void* plan) {
  const auto& p = *static_cast<const TransposePlan*>(plan);
  const TransposeTile& tile = p.tile;
  for_each_tile(p, [&](std::int8_t* output, const std::int8_t* input) {
    for (std::int32_t row = 0; row < tile.rows; ++row) {
      for (std::int32_t column = 0; column < tile.columns; ++column) {
        output[row * tile.row_step_out + column] = input[row * tile.row_step_in + column * tile.column_step_in];
      }
    }
  });
}

}  // namespace

const Kernel kTransposeReference = {Transpose<TargetWorld>::kName, load_transpose, execute};

}  // namespace cormorant::ops
