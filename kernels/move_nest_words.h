// SPDX-License-Identifier: Apache-2.0
//
// Tiles moved with word accesses. A transposition takes blocks of four by four bytes: four words in, sixteen bytes
// rearranged in registers, four words out, less than two instructions per byte. At the edges, and on ARMv6-M, which
// lacks the instructions for that, a word of the input is four rows of one column, which are stored one by one
// (scatter); or four columns of one row are loaded one by one and stored as a word (gather). Words defines what word
// accesses the instruction set allows:
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
[[gnu::noinline]] void scatter_columns(const MoveTile& tile, std::int8_t* output, const std::int8_t* input) {
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
    for (; left != 0; --left, to += step) {
      *to = *from++;
      asm volatile("");  // or compilers turn the few remaining bytes into a large loop of words
    }
  }
}

template <class Words>
[[gnu::noinline]] void gather_rows(const MoveTile& tile, std::int8_t* output, const std::int8_t* input) {
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
    for (; left != 0; --left) {
      *to++ = static_cast<std::int8_t>(next());
      asm volatile("");
    }
  }
}

#if __ARM_ARCH_ISA_THUMB >= 2
inline constexpr bool kTransposesBlocks = true;

// Four columns of 4 · blocks rows. With the bytes of a word written from the lowest, and a, b, c, d the columns' words:
//   ab = a0 b0 a2 b2, cd = c0 d0 c2 d2; the rows 0 and 2 are their lower and their upper halves
//   b  = a1 b1 a3 b3, d  = c1 d1 c3 d3; the rows 1 and 3
inline void transpose_blocks(std::int8_t* to, std::int32_t row_step, const std::int8_t* from, std::int32_t column_step,
                             std::int32_t blocks) {
  std::uint32_t a, b, c, d, ab, t;
  asm volatile(
      "1: ldr %[b], [%[from], %[cs]]\n"
      "add %[t], %[from], %[cs], lsl #1\n"
      "ldr %[d], [%[t], %[cs]]\n"
      "ldr %[c], [%[t]]\n"
      "ldr %[a], [%[from]], #4\n"
      "and %[ab], %[a], %[even]\n"
      "and %[t], %[b], %[even]\n"
      "orr %[ab], %[ab], %[t], lsl #8\n"
      "and %[t], %[even], %[a], lsr #8\n"
      "bic %[b], %[b], %[even]\n"
      "orr %[b], %[b], %[t]\n"
      "and %[a], %[c], %[even]\n"  // a is cd from here
      "and %[t], %[d], %[even]\n"
      "orr %[a], %[a], %[t], lsl #8\n"
      "and %[t], %[even], %[c], lsr #8\n"
      "bic %[d], %[d], %[even]\n"
      "orr %[d], %[d], %[t]\n"
      "lsr %[t], %[ab], #16\n"
      "bfi %[ab], %[a], #16, #16\n"
      "bfi %[a], %[t], #0, #16\n"
      "lsr %[t], %[b], #16\n"
      "bfi %[b], %[d], #16, #16\n"
      "bfi %[d], %[t], #0, #16\n"
      "add %[c], %[to], %[rs], lsl #1\n"
      "str %[ab], [%[to]]\n"
      "str %[b], [%[to], %[rs]]\n"
      "str %[a], [%[c]]\n"
      "str %[d], [%[c], %[rs]]\n"
      "add %[to], %[to], %[rs], lsl #2\n"
      "subs %[blocks], #1\n"
      "bne 1b\n"
      : [to] "+&r"(to), [from] "+&r"(from), [blocks] "+&r"(blocks), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c),
        [d] "=&r"(d), [ab] "=&r"(ab), [t] "=&r"(t)
      : [cs] "r"(column_step), [rs] "r"(row_step), [even] "r"(0x00FF00FF)
      : "cc", "memory");
}
#else
inline constexpr bool kTransposesBlocks = false;
inline void transpose_blocks(std::int8_t*, std::int32_t, const std::int8_t*, std::int32_t, std::int32_t) {}
#endif

template <class Words>
void scatter_or_gather(const MoveTile& tile, std::int8_t* output, const std::int8_t* input) {
  const bool by_column = tile.rows >= tile.columns;
  return by_column ? scatter_columns<Words>(tile, output, input) : gather_rows<Words>(tile, output, input);
}

// Rows step by 1 in the input. Whole blocks first, then the remaining columns and rows.
template <class Words>
void transpose_tile(const MoveTile& tile, std::int8_t* output, const std::int8_t* input) {
  const bool fits = Words::can_access(address_of(input) | static_cast<std::uint32_t>(tile.column_step_in) |
                                      address_of(output) | static_cast<std::uint32_t>(tile.row_step_out));
  if (!kTransposesBlocks || !fits || tile.rows < 4 || tile.columns < 4) {
    return scatter_or_gather<Words>(tile, output, input);
  }
  const std::int32_t rows = tile.rows & ~3;
  MoveTile left = tile;
  for (; left.columns >= 4; left.columns -= 4, output += 4, input += 4 * tile.column_step_in) {
    transpose_blocks(output, tile.row_step_out, input, tile.column_step_in, rows >> 2);
    if (rows == tile.rows) continue;
    const MoveTile below = {tile.rows - rows, 4, 1, tile.row_step_out, tile.column_step_in};
    gather_rows<Words>(below, output + rows * tile.row_step_out, input + rows);
  }
  if (left.columns != 0) scatter_or_gather<Words>(left, output, input);
}

template <class Words>
void move_tile(const MoveTile& tile, std::int8_t* output, const std::int8_t* input) {
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
}

}  // namespace cormorant
