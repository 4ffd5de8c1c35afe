// SPDX-License-Identifier: Apache-2.0
//
// A chain of operators computed row by row. Each of its values is a slab: a few rows of an image, the newest last. The
// operators are ordinary instructions of the program on these slabs (a convolution reads its slab of three rows as an
// image of three rows and writes one); cormorant::rows.<ISA> calls them, tick by tick, by a table that says what is due
// when. Before a row is written its slab is shifted by one row. A row above or below the image is filled instead of
// computed: that is all there is of padding.
//
// In the graph a group is made of
//   rows.feed     the next row of a whole image
//   rows.push     the next row of the program's input, which is one row: others arrive when they do
//   rows.slab     the last rows of what an operator computes
//   rows.window   those of a slab's rows that a reader looks at
//   rows.group    whole images, of rows: all of the above and the operators between them, in the order of a tick
// of which only the last becomes an instruction. One that rows are pushed to is cormorant::rows_fed.<ISA>: each call of
// it takes a row and computes until the next is needed (runtime/feed.h).
#pragma once

#include <cstdint>

#include "ops/kernel_list.h"
#include "target/target.h"

#define CORMORANT_ROWS_KERNELS(OURS, THEIRS, FOREIGN)                                      \
  OURS(rows, scalar, scalar, load_rows, execute_rows<kLoops>, any, rows::Run)              \
  OURS(rows, dsp, dsp, load_rows, execute_rows<kLoops>, any, rows::Run)                    \
  OURS(rows, mve, mve, load_rows, execute_rows<kLoops>, any, rows::Run)                    \
  OURS(rows_fed, scalar, scalar, load_rows_fed<kLoops>, execute_feed, any, rows::Run)      \
  OURS(rows_fed, dsp, dsp, load_rows_fed<kLoops>, execute_feed, any, rows::Run)            \
  OURS(rows_fed, mve, mve, load_rows_fed<kLoops>, execute_feed, any, rows::Run)            \
  OURS(rows_sum, scalar, scalar, load_rows_sum, execute_rows_sum<kLoops>, w8a8, rows::Sum) \
  OURS(rows_sum, mve, mve, load_rows_sum, execute_rows_sum<kLoops>, w8a8, rows::Sum)       \
  OURS(rows_mean, scalar, scalar, load_rows_mean, execute_rows_mean, w8a8, rows::Mean)
CORMORANT_NAMES(CORMORANT_ROWS_KERNELS)

namespace cormorant::ops::rows {

// Stages are the instructions from `first` on, behind all others: as many as the table has calls.
template <class W>
struct Run {
  typename W::Tensor table{};
  typename W::Int first{};
  typename W::TensorList tensors{};

  template <class V>
  void visit(V&& v) {
    v("table", table);
    v("first", first);
    v("tensors", tensors);
  }
};

// The mean over a whole image, whose rows come one by one: a row's pixels are added to sums, which begin with zeros
// because a row above the image is filled with them.
template <class W>
struct Sum {
  typename W::Tensor input{};
  typename W::Out out{};  // i32, one per channel

  template <class V>
  void visit(V&& v) {
    v("input", input);
    v("out", out);
  }
};
// As cormorant::avg_pool2d computes it.
template <class W>
struct Mean {
  typename W::Tensor sums{};
  typename W::Int elements{};  // that each sum has
  typename W::Int multiplier{};
  typename W::Int shift{};
  typename W::Int left_shift{};
  typename W::Int input_zero_point{};
  typename W::Int output_zero_point{};
  typename W::Int output_min{};
  typename W::Int output_max{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("sums", sums);
    v("elements", elements);
    v("multiplier", multiplier);
    v("shift", shift);
    v("left_shift", left_shift);
    v("input_zero_point", input_zero_point);
    v("output_zero_point", output_zero_point);
    v("output_min", output_min);
    v("output_max", output_max);
    v("out", out);
  }
};
constexpr const char* sum_variant(Isa isa) {
  return isa == Isa::mve ? names::cormorant_rows_sum_mve : names::cormorant_rows_sum_scalar;
}

// An entry of the table, as it stands in the file. Due at the ticks start, start + period, …: `before` times, at which
// the newest row is filled, `rows` times, and `after` times, at which it is filled again.
struct Entry {
  enum class Kind : std::uint8_t {
    call,     // the next instruction, which writes the newest row of the slab
    feed,     // the next row of the whole is copied to the newest of the slab
    collect,  // the newest row of the slab is copied to the next of the whole
    push,     // the row that arrived is copied to the newest of the slab; one entry of a group, if any
  };
  static constexpr std::uint16_t kNone = 0xffff;

  Kind kind;
  std::int8_t fill;
  std::uint16_t start;
  std::uint16_t period;
  std::uint16_t before;
  std::uint16_t rows;
  std::uint16_t after;
  std::uint16_t slab;   // index of a tensor; none: what is computed is read in the same tick
  std::uint16_t whole;  // of feed and collect; of push the program's input
  std::uint32_t row_bytes;
  std::uint32_t slab_bytes;
};
static_assert(sizeof(Entry) == 24);

constexpr const char* variant(Isa isa) {
  return isa == Isa::mve   ? names::cormorant_rows_mve
         : isa == Isa::dsp ? names::cormorant_rows_dsp
                           : names::cormorant_rows_scalar;
}
constexpr const char* fed_variant(Isa isa) {
  return isa == Isa::mve   ? names::cormorant_rows_fed_mve
         : isa == Isa::dsp ? names::cormorant_rows_fed_dsp
                           : names::cormorant_rows_fed_scalar;
}

// Ticks are counted with 16 bits.
inline constexpr std::uint32_t kMostTicks = 0xffff;

}  // namespace cormorant::ops::rows
