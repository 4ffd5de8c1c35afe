// SPDX-License-Identifier: Apache-2.0
//
// How MVE convolutions find their patches (Walk in conv2d.h): templates over the inner loops, whose elements are bytes,
// or words of which the geometry counts the bytes. Loops has
//   compute(gemm, bytes, block_bytes)   pairs of pixels, all channels of a group, whose outputs are so many bytes
//   gemm_of(convolution)                all that does not change from pixel to pixel
//   stream_of(geometry)                 with block_bytes() and group_bytes()
// and, where results are not in their places yet,
//   finish(convolution, left, first, count)
// for a stretch of by_columns: its pixels from y = first on, whose windows begin at x = left, are at the places' out.
// Loops is local to the file that uses it, so that each file has its own copies.
#pragma once

#include <arm_mve.h>

#include "kernels/conv_gemm.h"
#include "kernels/conv_patch.h"
#include "kernels/move.h"
#include "ops/conv2d/kernel.h"

namespace cormorant::ops::conv2d {

// One row of output, for a window that is one row of neighbours; pixels away from the image's edge are read in place.
template <class Loops>
struct Row {
  const Convolution& c;
  conv::MveGemm gemm;
  std::uint32_t block_bytes;
  const std::int8_t* input;  // null: outside the image
  std::int8_t* out;
  const std::int8_t* last_whole;  // from here on whole vectors would run past the input

  void patch(std::int32_t left) const {
    const conv::Geometry& g = c.header.geometry;
    const std::uint32_t channels = g.group_inputs();
    std::int8_t* to = c.scratch;
    const std::int32_t end = left + g.kernel_width;
    const std::int32_t from = left < 0 ? 0 : left;
    const std::int32_t until = end > g.in_width ? g.in_width : end;
    if (input == nullptr || from != left || until != end) fill_bytes_mve(to, c.header.pad_value, g.patch());
    if (input == nullptr || from >= until) return;
    copy_bytes_mve(to + static_cast<std::uint32_t>(from - left) * channels,
                   input + static_cast<std::uint32_t>(from) * g.in_channels,
                   static_cast<std::uint32_t>(until - from) * channels);
  }

  void one(const std::int8_t* at) {  // computed twice
    gemm.patch0 = gemm.patch1 = at;
    gemm.out0 = gemm.out1 = out;
    gemm.pairs = 1;
    Loops::compute(gemm, c.header.geometry.group_outputs(), block_bytes);
    out += c.places.pixel;
  }
  void copied(std::uint32_t first, std::uint32_t count) {
    const conv::Geometry& g = c.header.geometry;
    std::int32_t left = static_cast<std::int32_t>(first * g.stride_width) - g.pad_left;
    for (; count > 0; --count, left += g.stride_width) {
      patch(left);
      one(c.scratch);
    }
  }
  void in_place(std::uint32_t first, std::uint32_t count) {
    const conv::Geometry& g = c.header.geometry;
    const std::uint32_t step = std::uint32_t{g.stride_width} * g.in_channels;
    const std::int8_t* at = input + (first * g.stride_width - g.pad_left) * g.in_channels;
    gemm.pairs = count / 2;
    // In an input shorter than a vector `last_whole` is before its first pixel.
    while (gemm.pairs > 0 && at + (2 * gemm.pairs - 1) * step > last_whole) --gemm.pairs;
    if (gemm.pairs > 0) {
      gemm.patch0 = at;
      gemm.patch1 = at + step;
      gemm.in_step = 2 * step;
      gemm.out0 = out;
      gemm.out1 = out + c.places.pixel;
      gemm.out_step = 2 * c.places.pixel;
      const std::uint32_t done = 2 * gemm.pairs;
      Loops::compute(gemm, g.group_outputs(), block_bytes);
      out += done * c.places.pixel;
      at += done * step;
      count -= done;
    }
    for (; count > 0; --count, at += step) {
      const std::uint32_t bytes = g.patch();
      if (bytes % 16 != 0) copy_bytes_mve(c.scratch, at, bytes);
      one(bytes % 16 != 0 ? c.scratch : at);
    }
  }
};

// Output rows whose input pixels are equally far apart are one row: all of them, if the window is a pixel and the
// stride is 1.
template <class Loops>
void by_rows(const Convolution& c) {
  const conv::Geometry& g = c.header.geometry;
  const auto stream = Loops::stream_of(g);
  const std::uint32_t row_bytes = std::uint32_t{g.in_width} * g.in_channels;
  const std::int8_t* end = c.input + std::uint32_t{g.batch} * g.in_height * row_bytes;
  Row<Loops> row{c, Loops::gemm_of(c), stream.block_bytes(), nullptr, nullptr, nullptr};
  row.last_whole = end - 16 * row.gemm.chunks;
  const bool one_row = conv::is_pointwise(g) && c.places.is_one_row(g);
  // Pixels before `first` see the left edge, those from `last` on the right one.
  const std::uint32_t columns = one_row ? g.out_pixels() : g.out_width;
  std::uint32_t first = (std::uint32_t{g.pad_left} + g.stride_width - 1) / g.stride_width;
  if (first > columns) first = columns;
  const std::int32_t reach = g.in_width + g.pad_left - g.kernel_width;
  std::uint32_t last = reach < 0 ? 0 : static_cast<std::uint32_t>(reach) / g.stride_width + 1;
  if (one_row || last > columns) last = columns;
  if (last < first) last = first;
  for (std::uint32_t group = 0; group < g.groups; ++group) {
    const std::int8_t* image = c.input + group * g.group_inputs();
    std::int8_t* out = c.places.out + group * g.group_outputs();
    for (std::uint32_t n = 0; n < g.batch; ++n) {
      std::int32_t y = -std::int32_t{g.pad_top};
      for (std::uint32_t i = 0; i < g.out_height; ++i, y += g.stride_height) {
        const bool inside = y >= 0 && y < g.in_height;
        row.input = inside ? image + static_cast<std::uint32_t>(y) * row_bytes : nullptr;
        row.out = out + i * c.places.row;
        row.copied(0, inside ? first : columns);
        if (inside) row.in_place(first, last - first);
        if (inside) row.copied(last, columns - last);
        if (one_row) break;
      }
      if (one_row) break;
      image += g.in_height * row_bytes;
      out += c.places.image;
    }
    row.gemm.stream += stream.group_bytes();
  }
}

// `rows` runs of `count` bytes, `stride` apart, packed without gaps. Short ones are written as whole vectors: the next
// one overwrites up to 15 excess bytes.
template <class Loops>
void copy_rows(std::int8_t* to, const std::int8_t* from, std::uint32_t rows, std::uint32_t count,
               std::uint32_t stride) {
  if (count <= 16) {
    const mve_pred16_t lanes = vctp8q(count);
    for (; rows > 0; --rows, to += count, from += stride) vstrbq_s8(to, vldrbq_z_s8(from, lanes));
    return;
  }
  // Pointers advance by whole vectors, so they are set back after each row.
  const std::uint32_t vectors = (count + 15) / 16 * 16;
  asm volatile(
      "1: wlstp.8 lr, %[count], 3f\n"
      "2: vldrb.u8 q0, [%[from]], #16\n"
      "vstrb.8 q0, [%[to]], #16\n"
      "letp lr, 2b\n"
      "3: sub %[to], %[to], %[over]\n"
      "add %[from], %[from], %[skip]\n"
      "subs %[rows], %[rows], #1\n"
      "bne 1b\n"
      : [to] "+&r"(to), [from] "+&r"(from), [rows] "+&r"(rows)
      : [count] "r"(count), [over] "r"(vectors - count), [skip] "r"(stride - vectors)
      : "q0", "lr", "cc", "memory");
}

// The same to addresses `to_stride` apart; nothing between them is written.
template <class Loops>
void copy_taps(std::int8_t* to, const std::int8_t* from, std::uint32_t rows, std::uint32_t count,
               std::uint32_t to_stride, std::uint32_t stride) {
  for (auto left = static_cast<std::int32_t>(count); left > 0; left -= 16, to += 16, from += 16) {
    const mve_pred16_t lanes = vctp8q(static_cast<std::uint32_t>(left));
    std::int8_t* at = to;
    const std::int8_t* source = from;
    for (std::uint32_t i = rows; i > 0; --i, at += to_stride, source += stride) {
      vstrbq_p_s8(at, vldrbq_z_s8(source, lanes), lanes);
    }
  }
}

// Copies the part of a group's column from x = left on that is under the window: `rows` rows, starting at y = top.
template <class Loops>
void copy_column(const Convolution& c, const std::int8_t* image, std::int32_t top, std::int32_t left,
                 std::uint32_t rows) {
  const conv::Geometry& g = c.header.geometry;
  const std::uint32_t channels = g.group_inputs();
  const std::uint32_t run = channels * g.kernel_width;
  const std::uint32_t row_bytes = std::uint32_t{g.in_width} * g.in_channels;
  const std::uint32_t step = g.dilation_height;
  std::uint32_t above = top >= 0 ? 0 : (static_cast<std::uint32_t>(-top) + step - 1) / step;
  if (above > rows) above = rows;
  const std::int32_t below = g.in_height - top;  // > 0 if a row is inside
  std::uint32_t until = below <= 0 ? 0 : (static_cast<std::uint32_t>(below) + step - 1) / step;
  if (until > rows) until = rows;
  if (until < above) until = above;
  const std::uint32_t inside = until - above;
  const std::int8_t* from =
      image + static_cast<std::uint32_t>(top + static_cast<std::int32_t>(above * step)) * row_bytes;
  const bool whole = left >= 0 && left + (g.kernel_width - 1) * g.dilation_width < g.in_width;
  const bool is_run = g.dilation_width == 1 && g.groups == 1;
  if (above != 0 || !whole) fill_bytes_mve(c.scratch, c.header.pad_value, (whole ? above : until) * run);
  std::int8_t* to = c.scratch + above * run;
  if (inside != 0 && whole && is_run) {
    copy_rows<Loops>(to, from + static_cast<std::uint32_t>(left) * channels, inside, run, step * row_bytes);
  } else if (inside != 0) {
    std::int32_t x = left;
    for (std::uint32_t kx = 0; kx < g.kernel_width; ++kx, x += g.dilation_width, to += channels) {
      if (x < 0 || x >= g.in_width) continue;
      copy_taps<Loops>(to, from + static_cast<std::uint32_t>(x) * g.in_channels, inside, channels, run,
                       step * row_bytes);
    }
  }
  if (until != rows) fill_bytes_mve(c.scratch + until * run, c.header.pad_value, (rows - until) * run);
}

// Stretches of a column, pixels from top to bottom.
template <class Loops>
void by_columns(const Convolution& c) {
  const conv::Geometry& g = c.header.geometry;
  const auto stream = Loops::stream_of(g);
  const std::uint32_t block_bytes = stream.block_bytes(), group_bytes = stream.group_bytes();  // once for all
  const Stretch stretch(g, c.header.bands);
  const std::uint32_t step = g.stride_height * stretch.row;
  const std::uint32_t dilation = g.dilation_height;
  conv::MveGemm gemm = Loops::gemm_of(c);
  gemm.in_step = 2 * step;
  gemm.out_step = 2 * dilation * c.places.row;

  // `count` pixels from y = first on, every dilation-th.
  const auto compute_stretch = [&](const std::int8_t* image, std::int8_t* out, std::int32_t left, std::uint32_t first,
                                   std::uint32_t count) {
    const std::int32_t top = static_cast<std::int32_t>(first * g.stride_height) - g.pad_top;
    if constexpr (!requires { Loops::finish(c, left, first, count); }) out += first * c.places.row;
    gemm.stream = c.stream;
    for (std::uint32_t group = 0; group < g.groups; ++group) {
      copy_column<Loops>(c, image, top, left, (count - 1) * g.stride_height + g.kernel_height);
      gemm.patch0 = c.scratch;
      gemm.patch1 = c.scratch + step;
      gemm.out0 = out;
      gemm.out1 = out + dilation * c.places.row;
      gemm.pairs = count / 2;
      if (gemm.pairs > 0) Loops::compute(gemm, g.group_outputs(), block_bytes);
      if (count % 2 != 0) {  // the last of an odd number of pixels is computed twice
        gemm.patch0 = gemm.patch1 = c.scratch + (count - 1) * step;
        gemm.out0 = gemm.out1 = out + (count - 1) * dilation * c.places.row;
        gemm.pairs = 1;
        Loops::compute(gemm, g.group_outputs(), block_bytes);
      }
      image += g.group_inputs();
      out += g.group_outputs();
      gemm.stream += group_bytes;
    }
    if constexpr (requires { Loops::finish(c, left, first, count); }) Loops::finish(c, left, first, count);
  };

  const std::int8_t* image = c.input;
  for (std::uint32_t n = 0; n < g.batch; ++n) {
    // Band by band, so that the output can follow the input in the same memory (overlap.h).
    for (std::uint32_t band = 0; band < g.out_height; band += stretch.outputs * dilation) {
      std::int8_t* out = c.places.out + n * c.places.image;
      std::int32_t left = -std::int32_t{g.pad_left};
      for (std::uint32_t x = 0; x < g.out_width; ++x, left += g.stride_width, out += c.places.pixel) {
        for (std::uint32_t y = band; y < g.out_height && y < band + dilation; ++y) {
          const std::uint32_t left_over = (g.out_height - y + dilation - 1) / dilation;
          compute_stretch(image, out, left, y, left_over < stretch.outputs ? left_over : stretch.outputs);
        }
      }
    }
    image += std::uint32_t{g.in_height} * g.in_width * g.in_channels;
  }
}

template <class Loops>
void fill_patch(const conv::Header& header, const conv::Pixel& pixel, std::uint32_t first, std::int8_t* to) {
  pixel.for_runs(header.geometry, first, [&](const std::int8_t* from, std::uint32_t count) {
    if (from == nullptr) {
      fill_bytes_mve(to, header.pad_value, count);
    } else {
      copy_bytes_mve(to, from, count);
    }
    to += count;
  });
}

// Patch by patch, pairs of neighbours in a row.
template <class Loops>
void by_pixels(const Convolution& c) {
  const conv::Geometry& g = c.header.geometry;
  const auto stream = Loops::stream_of(g);
  const std::uint32_t block_bytes = stream.block_bytes(), group_bytes = stream.group_bytes();  // once for all
  conv::MveGemm gemm = Loops::gemm_of(c);
  std::int8_t* second = c.scratch + 16 * gemm.chunks;
  conv::Pixel pixel(g, c.input);
  std::int8_t* row = c.places.out;
  for (std::uint32_t i = 0, y = 0; i < std::uint32_t{g.batch} * g.out_height; ++i) {
    std::int8_t* out = row;
    for (std::uint32_t left = g.out_width; left > 0;) {
      conv::Pixel next = pixel;
      const bool pair = left > 1;
      if (pair) next.advance(g);
      gemm.stream = c.stream;
      for (std::uint32_t group = 0; group < g.groups; ++group) {
        fill_patch<Loops>(c.header, pixel, group * g.group_inputs(), c.scratch);
        if (pair) fill_patch<Loops>(c.header, next, group * g.group_inputs(), second);
        gemm.patch0 = c.scratch;
        gemm.patch1 = pair ? second : c.scratch;
        gemm.out0 = out + group * g.group_outputs();
        gemm.out1 = pair ? gemm.out0 + c.places.pixel : gemm.out0;
        Loops::compute(gemm, g.group_outputs(), block_bytes);
        gemm.stream += group_bytes;
      }
      pixel = next;
      pixel.advance(g);
      out += 2 * c.places.pixel;
      left -= pair ? 2 : 1;
    }
    row += c.places.row;
    if (++y == g.out_height) {
      y = 0;
      row = c.places.out + (i + 1) / g.out_height * c.places.image;
    }
  }
}

template <class Loops>
void walk(const Convolution& c) {
  switch (walk_of(c.header.geometry)) {
    case Walk::rows:
      by_rows<Loops>(c);
      break;
    case Walk::columns:
      by_columns<Loops>(c);
      break;
    case Walk::pixels:
      by_pixels<Loops>(c);
      break;
  }
}

}  // namespace cormorant::ops::conv2d
