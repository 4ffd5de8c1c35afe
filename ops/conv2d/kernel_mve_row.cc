// SPDX-License-Identifier: Apache-2.0
//
// One row of output from the rows under its window, for images computed row by row. A separate file, so that programs
// without such rows are compiled as if it did not exist.
#include <arm_mve.h>

#include "kernels/move.h"
#include "ops/conv2d/pairs_mve.h"
#include "ops/conv2d/walk_mve.h"

namespace cormorant::ops::conv2d {
namespace {

// Gives this file its own copies of the walk's functions.
struct Rows {
  static constexpr Layout kLayout = Layout::mve;
  static void compute(const conv::MveGemm& gemm, std::uint32_t channels, std::uint32_t block_bytes) {
    conv2d::compute(gemm, channels, block_bytes);
  }
};
struct RowsWithSlopes {
  static constexpr Layout kLayout = Layout::mve_prelu;
  [[gnu::noinline]] static void compute(conv::MveGemm gemm, std::uint32_t channels, std::uint32_t block_bytes) {
    compute_by<conv::cormorant_conv_gemm_prelu_mve>(gemm, channels, block_bytes);
  }
};

// The part of the columns from x = left on that is under the window, one column after another.
template <class Loops>
void copy_columns(const Convolution& c, std::int32_t left, std::uint32_t columns) {
  const conv::Geometry& g = c.header.geometry;
  const std::uint32_t channels = g.in_channels;
  const std::uint32_t column = channels * g.kernel_height;
  std::uint32_t before = left < 0 ? static_cast<std::uint32_t>(-left) : 0;
  if (before > columns) before = columns;
  const std::int32_t inside = g.in_width - left;  // > 0 if a column is inside
  std::uint32_t until = inside <= 0 ? 0 : static_cast<std::uint32_t>(inside);
  if (until > columns) until = columns;
  if (until < before) until = before;
  if (before != 0) fill_bytes_mve(c.scratch, c.header.pad_value, before * column);
  std::int8_t* to = c.scratch + before * column;
  const std::uint32_t row_bytes = std::uint32_t{g.dilation_height} * g.in_width * channels;
  if (until != before) {  // else the columns may be any distance from the image
    const std::int8_t* from = c.input + (static_cast<std::uint32_t>(left) + before) * channels;
    for (std::uint32_t y = g.kernel_height; y > 0; --y, to += channels, from += row_bytes) {
      copy_taps<Loops>(to, from, until - before, channels, column, channels);
    }
  }
  if (until != columns) fill_bytes_mve(c.scratch + until * column, c.header.pad_value, (columns - until) * column);
}

// Patches of `count` pixels whose windows are inside the image, the first one's at `from`. Three rows, the usual case,
// without a loop.
template <class Loops>
void copy_inside(const conv::Geometry& g, const std::int8_t* from, std::int8_t* patch, std::uint32_t count,
                 std::uint32_t patch_step) {
  const std::uint32_t run = std::uint32_t{g.in_channels} * g.kernel_width;
  const std::uint32_t row_bytes = std::uint32_t{g.dilation_height} * g.in_width * g.in_channels;
  const std::uint32_t pixel_step = std::uint32_t{g.stride_width} * g.in_channels;
  const mve_pred16_t lanes = vctp8q(run);
  if (g.kernel_height == 3) {
    const std::int8_t* second = from + row_bytes;
    const std::int8_t* third = second + row_bytes;
    for (; count > 0; --count, from += pixel_step, second += pixel_step, third += pixel_step, patch += patch_step) {
      const int8x16_t first_row = vldrbq_z_s8(from, lanes);
      const int8x16_t second_row = vldrbq_z_s8(second, lanes);
      const int8x16_t third_row = vldrbq_z_s8(third, lanes);
      vstrbq_s8(patch, first_row);
      vstrbq_s8(patch + run, second_row);
      vstrbq_s8(patch + 2 * run, third_row);
    }
    return;
  }
  for (; count > 0; --count, from += pixel_step, patch += patch_step) {
    const std::int8_t* row = from;
    std::int8_t* to = patch;
    for (std::uint32_t y = g.kernel_height; y > 0; --y, to += run, row += row_bytes) {
      vstrbq_s8(to, vldrbq_z_s8(row, lanes));
    }
  }
}

// Patches of `count` pixels from x = left on, whose rows are no longer than a vector: each row is written as a whole
// vector, and the next one overwrites the excess.
template <class Loops>
void copy_patches(const Convolution& c, std::int32_t left, std::uint32_t count, std::uint32_t patch_step) {
  const conv::Geometry& g = c.header.geometry;
  const std::uint32_t channels = g.in_channels;
  const std::uint32_t run = channels * g.kernel_width;
  const std::uint32_t row_bytes = std::uint32_t{g.dilation_height} * g.in_width * channels;
  std::int8_t* patch = c.scratch;
  while (count > 0) {
    const std::int32_t room = g.in_width - g.kernel_width - left;
    std::uint32_t done = 1;
    if (left >= 0 && room >= 0) {
      done = static_cast<std::uint32_t>(room) / g.stride_width + 1;
      if (done > count) done = count;
      copy_inside<Loops>(g, c.input + static_cast<std::uint32_t>(left) * channels, patch, done, patch_step);
    } else {
      const std::int32_t begin = left < 0 ? 0 : left;
      fill_bytes_mve(patch, c.header.pad_value, g.patch());
      const std::int32_t inside = g.kernel_width - (begin - left) - (room < 0 ? -room : 0);
      if (inside > 0) {
        copy_taps<Loops>(patch + static_cast<std::uint32_t>(begin - left) * channels,
                         c.input + static_cast<std::uint32_t>(begin) * channels, g.kernel_height,
                         static_cast<std::uint32_t>(inside) * channels, run, row_bytes);
      }
    }
    count -= done;
    left += static_cast<std::int32_t>(done * g.stride_width);
    patch += done * patch_step;
  }
}

// A stretch at a time. Windows of successive pixels overlap in the copy of their columns; small ones are copied
// individually.
template <class Loops>
void execute_row(const void* raw) {
  const Convolution c = convolution_of(*static_cast<const PackedPlan*>(raw));
  const conv::Geometry& g = c.header.geometry;
  const std::uint32_t block_bytes = Stream(Loops::kLayout, g).block_bytes();
  const RowStretch stretch(g);
  conv::MveGemm gemm = gemm_of(c);
  gemm.in_step = 2 * stretch.step;
  gemm.out_step = 2 * c.places.pixel;
  std::int8_t* out = c.places.out;
  for (std::uint32_t x = 0; x < g.out_width; x += stretch.outputs) {
    const std::uint32_t left_over = g.out_width - x;
    const std::uint32_t count = left_over < stretch.outputs ? left_over : stretch.outputs;
    const std::int32_t left = static_cast<std::int32_t>(x * g.stride_width) - g.pad_left;
    if (has_small_rows(g)) {
      copy_patches<Loops>(c, left, count, stretch.step);
    } else {
      copy_columns<Loops>(c, left, (count - 1) * g.stride_width + g.kernel_width);
    }
    gemm.patch0 = c.scratch;
    gemm.patch1 = c.scratch + stretch.step;
    gemm.out0 = out;
    gemm.out1 = out + c.places.pixel;
    gemm.pairs = count / 2;
    if (gemm.pairs > 0) Loops::compute(gemm, g.out_channels, block_bytes);
    out += count * c.places.pixel;
    if (count % 2 != 0) {  // the last of an odd number of pixels is computed twice
      gemm.patch0 = gemm.patch1 = c.scratch + (count - 1) * stretch.step;
      gemm.out0 = gemm.out1 = out - c.places.pixel;
      gemm.pairs = 1;
      Loops::compute(gemm, g.out_channels, block_bytes);
    }
  }
}

}  // namespace

void execute_mve_row(const void* raw) { execute_row<Rows>(raw); }
void execute_mve_row_prelu(const void* raw) { execute_row<RowsWithSlopes>(raw); }

}  // namespace cormorant::ops::conv2d
