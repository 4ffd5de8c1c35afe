// SPDX-License-Identifier: Apache-2.0
//
// The host's kernel for operators that move elements: a plan's loops, byte by byte. The operators' tests compare plans
// with the float semantics.
#pragma once

#include "kernels/move_nest.h"

namespace cormorant {

template <>
inline void execute_move<Loops::reference>(const void* plan) {
  for_each_tile(
      *static_cast<const MovePlan*>(plan), [](const MoveTile& tile, std::int8_t* output, const std::int8_t* input) {
        for (std::int32_t row = 0; row < tile.rows; ++row) {
          for (std::int32_t column = 0; column < tile.columns; ++column) {
            output[row * tile.row_step_out + column] = input[row * tile.row_step_in + column * tile.column_step_in];
          }
        }
      });
}

}  // namespace cormorant
