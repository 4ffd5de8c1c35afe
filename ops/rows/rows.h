// SPDX-License-Identifier: Apache-2.0
//
// A chain of operators computed row by row. Each of its values is a slab: a few rows of an image, the newest last. The
// operators are ordinary instructions of the program on these slabs (a convolution reads its slab of three rows as an
// image of three rows and writes one); cormorant::rows.<ISA> calls them, tick by tick, according to a table of what is
// due when. Before a row is written its slab is shifted by one row. A row above or below the image is filled instead of
// computed: that is all padding amounts to.
//
// Where memory allows, an operator computes a batch of rows at a time (a convolution two, from a slab of four), for
// fewer and longer calls. An image need not be whole batches: some rows of its first and last batch may be outside.
// They are computed with the others, from anything, and then filled.
//
// In the graph a group is made of
//   rows.feed     the next row of a whole image
//   rows.push     the next row of the program's input, which is one row: others arrive when they do
//   rows.slab     the last rows of what an operator computes
//   rows.window   those of a slab's rows that a reader looks at
//   rows.cut      columns of a slab's rows: a strip, from which the operators after it compute a strip of one row
//   rows.paste    the row that such strips are computed for, one after another
//   rows.group    whole images, of rows: all of the above and the operators between them, in the order of a tick
// of which only the last becomes an instruction. One that rows are pushed to is cormorant::rows_fed.<ISA>: each call of
// it takes a row and computes until the next is needed (runtime/feed.h).
//
// Between cut and paste nothing is kept from row to row: everything a row needs is computed again for each, which costs
// time and saves the slabs. Such groups are cormorant::rows_strips.<ISA> and cormorant::rows_strips_fed.<ISA>, so that
// others need not link that code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/fields.h"
#include "ops/load/kernel_list.h"
#include "target/target.h"

#define CORMORANT_ROWS_KERNELS(OURS, THEIRS, FOREIGN)                                               \
  OURS(rows, scalar, scalar, load_rows, execute_rows<kLoops>, any, rows::Run)                       \
  OURS(rows, dsp, dsp, load_rows, execute_rows<kLoops>, any, rows::Run)                             \
  OURS(rows, mve, mve, load_rows, execute_rows<kLoops>, any, rows::Run)                             \
  OURS(rows_strips, scalar, scalar, load_rows_strips, execute_rows_strips<kLoops>, any, rows::Run)  \
  OURS(rows_strips, dsp, dsp, load_rows_strips, execute_rows_strips<kLoops>, any, rows::Run)        \
  OURS(rows_strips, mve, mve, load_rows_strips, execute_rows_strips<kLoops>, any, rows::Run)        \
  OURS(rows_strips_fed, scalar, scalar, load_rows_strips_fed<kLoops>, execute_feed, any, rows::Run) \
  OURS(rows_strips_fed, dsp, dsp, load_rows_strips_fed<kLoops>, execute_feed, any, rows::Run)       \
  OURS(rows_strips_fed, mve, mve, load_rows_strips_fed<kLoops>, execute_feed, any, rows::Run)       \
  OURS(rows_fed, scalar, scalar, load_rows_fed<kLoops>, execute_feed, any, rows::Run)               \
  OURS(rows_fed, dsp, dsp, load_rows_fed<kLoops>, execute_feed, any, rows::Run)                     \
  OURS(rows_fed, mve, mve, load_rows_fed<kLoops>, execute_feed, any, rows::Run)                     \
  OURS(rows_sum, scalar, scalar, load_rows_sum, execute_rows_sum<kLoops>, w8a8, rows::Sum)          \
  OURS(rows_sum, mve, mve, load_rows_sum, execute_rows_sum<kLoops>, w8a8, rows::Sum)                \
  OURS(rows_mean, scalar, scalar, load_rows_mean, execute_rows_mean, w8a8, rows::Mean)
CORMORANT_NAMES(CORMORANT_ROWS_KERNELS)

namespace cormorant::ops::rows {

// Stages are the instructions from `first` on, after all others: as many as the table has calls.
template <class W>
struct Run {
  typename W::Tensor table{};
  typename W::Int first{};
  typename W::TensorList tensors{};

  CORMORANT_FIELDS(table, first, tensors)
};

// The mean over a whole image whose rows arrive one by one: a row's pixels are added to sums, which begin with zeros
// because a row above the image is filled with them.
template <class W>
struct Sum {
  typename W::Tensor input{};
  typename W::Out out{};  // i32, one per channel

  CORMORANT_FIELDS(input, out)
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

  CORMORANT_FIELDS(sums, elements, multiplier, shift, left_shift, input_zero_point, output_zero_point, output_min,
                   output_max, out)
};
constexpr const char* sum_variant(Isa isa) {
  return isa == Isa::mve ? names::cormorant_rows_sum_mve : names::cormorant_rows_sum_scalar;
}

// An entry of the table, as stored in the file. Due at the ticks start, start + period, …, each time for the next batch
// of rows: `before` rows above the image, which are filled, `rows` of it, and `after` below it, which are filled again.
struct Entry {
  enum class Kind : std::uint8_t {
    call,     // the next instruction, which writes the newest row of the slab
    feed,     // the next row of the whole is copied to the newest of the slab
    collect,  // the newest row of the slab is copied to the next of the whole
    push,     // the row that arrived is copied to the newest of the slab; one entry of a group, if any
    strips,   // the newest row of the slab is computed by strips, each by the parts that follow
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
  std::uint16_t whole;  // of feed and collect; of push the program's input; of strips how many, and 256 · their parts
  std::uint32_t row_bytes;
  std::uint16_t slab_rows;
  std::uint16_t batch;  // rows at a time

  // Rows of all batches.
  [[nodiscard]] constexpr std::uint32_t all_rows() const { return std::uint32_t{before} + rows + after; }
  [[nodiscard]] constexpr std::uint32_t batch_bytes() const { return batch * row_bytes; }
  // Of what is older than a batch.
  [[nodiscard]] constexpr std::uint32_t older_bytes() const { return (std::uint32_t{slab_rows} - batch) * row_bytes; }

  static constexpr std::uint32_t kMostStrips = 255, kMostParts = 255;
  [[nodiscard]] constexpr std::uint32_t strips() const { return whole & 255U; }
  [[nodiscard]] constexpr std::uint32_t parts() const { return whole >> 8U; }
};
static_assert(sizeof(Entry) == 24);

// Of `count` rows or columns from `first` on, those inside an image of `size`.
struct Inside {
  std::int32_t first;
  std::uint32_t begin, end;  // counted from the first

  constexpr Inside(std::int32_t from, std::uint32_t count, std::uint32_t size) : first(from), begin(0), end(count) {
    const std::int32_t rest = static_cast<std::int32_t>(size) - from;
    if (from < 0) begin = static_cast<std::uint32_t>(-from) < count ? static_cast<std::uint32_t>(-from) : count;
    if (rest < static_cast<std::int32_t>(count)) end = rest > 0 ? static_cast<std::uint32_t>(rest) : 0;
    if (end < begin) end = begin;
  }
  [[nodiscard]] constexpr std::uint32_t count() const { return end - begin; }
};

// The batch for which an entry is due for the n-th time.
constexpr Inside batch_of(const Entry& e, std::uint32_t n) {
  return {static_cast<std::int32_t>(n * e.batch) - e.before, e.batch, e.rows};
}

// A step of a strip, in the place of an entry. It works on a patch: some rows and columns of an image, around the
// strip's position. The patch for strip s of row y begins step_x · s − left columns right of the image's first and
// step_y · y − top rows below it.
struct Part {
  enum class Kind : std::uint8_t {
    cut = 0x80,  // the patch is copied from rows of the image
    call,        // the next instruction, which writes the patch
    paste,       // the patch is copied to the row that is computed
  };
  // Of steps, so that nothing overflows.
  static constexpr std::uint16_t kLongestStep = 0x3fff;

  Kind kind;
  std::int8_t fill;  // what a patch holds outside the image, except where it is pasted
  std::uint16_t tensor;
  std::uint16_t source;  // of cut: rows of the image, as many as the patch has
  std::uint16_t pixel_bytes;
  std::uint16_t columns, rows;
  std::uint16_t image_columns, image_rows;
  std::uint16_t step_x, step_y;
  std::int16_t left, top;
};
static_assert(sizeof(Part) == sizeof(Entry) && alignof(Part) <= alignof(Entry));

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
constexpr const char* strips_variant(Isa isa) {
  return isa == Isa::mve   ? names::cormorant_rows_strips_mve
         : isa == Isa::dsp ? names::cormorant_rows_strips_dsp
                           : names::cormorant_rows_strips_scalar;
}
constexpr const char* strips_fed_variant(Isa isa) {
  return isa == Isa::mve   ? names::cormorant_rows_strips_fed_mve
         : isa == Isa::dsp ? names::cormorant_rows_strips_fed_dsp
                           : names::cormorant_rows_strips_fed_scalar;
}
// By its name in a program.
constexpr bool is_fed_group(std::string_view name) {
  return name.starts_with("cormorant::rows_fed.") || name.starts_with("cormorant::rows_strips_fed.");
}
constexpr bool is_group(std::string_view name) {
  return name.starts_with("cormorant::rows.") || name.starts_with("cormorant::rows_strips.") || is_fed_group(name);
}

// Of a patch, in the graph: fill, image_columns, image_rows, step_x, step_y, left, top.
inline constexpr std::size_t kPlaceNumbers = 7;

// Ticks are counted with 16 bits.
inline constexpr std::uint32_t kMostTicks = 0xffff;

}  // namespace cormorant::ops::rows
