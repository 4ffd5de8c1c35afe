// SPDX-License-Identifier: Apache-2.0
//
// Transposing a tile with word accesses on its contiguous side: a word of the input is four rows of one column, which
// are stored one by one (scatter); or four columns of one row are loaded one by one and stored as a word (gather). Two
// to three instructions per byte instead of four to five. Words says what a word access may do on the instruction set:
//   static bool can_access(const void*);   // whether words may be accessed from this address on
//   static std::uint32_t load(const std::int8_t*);
//   static void store(std::int8_t*, std::uint32_t);
#pragma once

#include "ops/transpose/kernel.h"

namespace cormorant::ops {

template <class Words>
inline void scatter_columns(const TransposeTile& tile, std::int8_t* output, const std::int8_t* input) {
  const std::int32_t step = tile.row_step_out;
  for (std::int32_t column = 0; column < tile.columns; ++column, ++output, input += tile.column_step_in) {
    const std::int8_t* from = input;
    std::int8_t* to = output;
    std::int32_t left = tile.rows;
    if (Words::can_access(from)) {
      for (; left >= 4; left -= 4, from += 4) {
        const std::uint32_t bytes = Words::load(from);
        *to = static_cast<std::int8_t>(bytes);
        to += step;
        *to = static_cast<std::int8_t>(bytes >> 8);
        to += step;
        *to = static_cast<std::int8_t>(bytes >> 16);
        to += step;
        *to = static_cast<std::int8_t>(bytes >> 24);
        to += step;
      }
    }
    for (; left != 0; --left, to += step) *to = *from++;
  }
}

template <class Words>
inline void gather_rows(const TransposeTile& tile, std::int8_t* output, const std::int8_t* input) {
  const std::int32_t step = tile.column_step_in;
  for (std::int32_t row = 0; row < tile.rows; ++row, output += tile.row_step_out, input += tile.row_step_in) {
    const std::int8_t* from = input;
    std::int8_t* to = output;
    std::int32_t left = tile.columns;
    const auto next = [&] {
      const auto byte = static_cast<std::uint8_t>(*from);
      from += step;
      return std::uint32_t{byte};
    };
    if (Words::can_access(to)) {
      for (; left >= 4; left -= 4, to += 4) {
        std::uint32_t bytes = next();
        bytes |= next() << 8;
        bytes |= next() << 16;
        bytes |= next() << 24;
        Words::store(to, bytes);
      }
    }
    for (; left != 0; --left) *to++ = static_cast<std::int8_t>(next());
  }
}

template <class Words, class Copy>
inline void execute_transpose(const TransposePlan& p, Copy copy_bytes) {
  const TransposeTile& tile = p.tile;
  for_each_tile(p, [&](std::int8_t* output, const std::int8_t* input) {
    if (tile.column_step_in == 1) {
      for (std::int32_t row = 0; row < tile.rows; ++row, output += tile.row_step_out, input += tile.row_step_in) {
        copy_bytes(output, input, static_cast<std::uint32_t>(tile.columns));
      }
    } else if (tile.row_step_in == 1 && tile.rows >= tile.columns) {
      scatter_columns<Words>(tile, output, input);
    } else {
      gather_rows<Words>(tile, output, input);
    }
  });
}

}  // namespace cormorant::ops
