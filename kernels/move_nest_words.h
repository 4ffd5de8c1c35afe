// SPDX-License-Identifier: Apache-2.0
//
// Tiles moved with word accesses. A transposition takes blocks of four by four bytes: four words in, sixteen bytes
// rearranged in registers, four words out, one and a half instructions per byte. At the edges, a word of the input is
// four rows of one column, which are stored one by one (scatter); or four columns of one row are loaded one by one and
// stored as a word (gather). Words says what a word access may do on the instruction set:
//   static bool can_access(std::uint32_t address_or_step);   // whether words may be accessed there
//   static std::uint32_t load(const std::int8_t*);
//   static void store(std::int8_t*, std::uint32_t);
//   static void copy_rows(…), fill(…);                       // kernels/move.h
#pragma once

#include "kernels/move.h"
#include "kernels/move_nest.h"

namespace cormorant {

inline std::uint32_t address_of(const void* pointer) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

template <class Words>
inline void scatter_columns(const MoveTile& tile, std::int8_t* output, const std::int8_t* input) {
  const std::int32_t step = tile.row_step_out;
  for (std::int32_t column = 0; column < tile.columns; ++column, ++output, input += tile.column_step_in) {
    const std::int8_t* from = input;
    std::int8_t* to = output;
    std::int32_t left = tile.rows;
    if (Words::can_access(address_of(from))) {
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
inline void gather_rows(const MoveTile& tile, std::int8_t* output, const std::int8_t* input) {
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
    if (Words::can_access(address_of(to))) {
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

// Four bytes of each of four columns become four bytes of each of four rows.
template <class Words>
inline void transpose_block(std::int8_t* to, std::int32_t row_step, const std::int8_t* from, std::int32_t column_step) {
  constexpr std::uint32_t kEven = 0x00FF00FF;
  const std::uint32_t a = Words::load(from);
  const std::uint32_t b = Words::load(from + column_step);
  const std::uint32_t c = Words::load(from + 2 * column_step);
  const std::uint32_t d = Words::load(from + 3 * column_step);
  const std::uint32_t ab02 = (a & kEven) | ((b & kEven) << 8);
  const std::uint32_t ab13 = ((a >> 8) & kEven) | (b & ~kEven);
  const std::uint32_t cd02 = (c & kEven) | ((d & kEven) << 8);
  const std::uint32_t cd13 = ((c >> 8) & kEven) | (d & ~kEven);
  Words::store(to, (ab02 & 0xFFFF) | (cd02 << 16));
  Words::store(to + row_step, (ab13 & 0xFFFF) | (cd13 << 16));
  Words::store(to + 2 * row_step, (ab02 >> 16) | (cd02 & 0xFFFF0000));
  Words::store(to + 3 * row_step, (ab13 >> 16) | (cd13 & 0xFFFF0000));
}

// Rows step by 1 in the input. Whole blocks first, then the columns and the rows that are left.
template <class Words>
inline void transpose_tile(const MoveTile& tile, std::int8_t* output, const std::int8_t* input) {
  std::int32_t rows = 0;
  std::int32_t columns = 0;
  if (Words::can_access(address_of(input) | static_cast<std::uint32_t>(tile.column_step_in) | address_of(output) |
                        static_cast<std::uint32_t>(tile.row_step_out))) {
    rows = tile.rows & ~3;
    columns = rows == 0 ? 0 : tile.columns & ~3;
  }
  for (std::int32_t column = 0; column < columns; column += 4) {
    const std::int8_t* from = input + column * tile.column_step_in;
    std::int8_t* to = output + column;
    for (std::int32_t row = 0; row < rows; row += 4, from += 4, to += 4 * tile.row_step_out) {
      transpose_block<Words>(to, tile.row_step_out, from, tile.column_step_in);
    }
  }
  if (columns == 0) rows = 0;
  if (columns < tile.columns) {
    MoveTile right = tile;
    right.columns -= columns;
    const std::int8_t* from = input + columns * tile.column_step_in;
    if (right.rows >= right.columns) {
      scatter_columns<Words>(right, output + columns, from);
    } else {
      gather_rows<Words>(right, output + columns, from);
    }
  }
  if (columns != 0 && rows < tile.rows) {
    const MoveTile below = {tile.rows - rows, columns, 1, tile.row_step_out, tile.column_step_in};
    gather_rows<Words>(below, output + rows * tile.row_step_out, input + rows);
  }
}

template <class Words>
inline void move_nest(const MovePlan& p) {
  const MoveTile& tile = p.tile;
  for_each_tile(p, [&](std::int8_t* output, const std::int8_t* input) {
    if (tile.column_step_in == 1) {
      Words::copy_rows(output, input,
                       {static_cast<std::uint32_t>(tile.rows), static_cast<std::uint32_t>(tile.columns),
                        tile.row_step_out, tile.row_step_in});
    } else if (tile.column_step_in == 0) {
      for (std::int32_t row = 0; row < tile.rows; ++row, output += tile.row_step_out, input += tile.row_step_in) {
        Words::fill(output, *input, static_cast<std::uint32_t>(tile.columns));
      }
    } else if (tile.row_step_in == 1) {
      transpose_tile<Words>(tile, output, input);
    } else {
      gather_rows<Words>(tile, output, input);
    }
  });
}

}  // namespace cormorant
