// SPDX-License-Identifier: Apache-2.0
//
// How far the output of a convolution, or of another operator with windows, must begin before its input so that both
// can share memory: the kernel traverses both from beginning to end, and its writes cover only what it has read for the
// last time. Host only; the facts about the kernels are in their operators' headers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/conv_geometry.h"

namespace cormorant::conv {

// What a kernel promises: it computes output pixels in memory order, `pixels` at a time. Before it writes the first
// byte of these it has read all that earlier ones needed, and while it writes them it may still read for any of them.
// Stores extend up to `beyond` bytes past the pixels. A kernel with `rows` computes bands of that many rows of an
// image, the last one perhaps of fewer, each in any order.
struct Order {
  std::uint32_t pixels = 1;
  std::uint32_t beyond = 0;
  std::uint32_t rows = 0;
};

struct Image {
  std::uint64_t batch, height, width, channels;
};

// For every block of pixels: the end of what is written minus the lowest position that it or a later block reads.
// row_of and column_of give where in the input the window of an output row or column begins, possibly outside.
template <class RowOf, class ColumnOf>
constexpr std::uint64_t overlap_distance(const Image& in, const Image& out, const Order& order, RowOf row_of,
                                         ColumnOf column_of) {
  const std::uint64_t total = out.batch * out.height * out.width;
  std::int64_t distance = 0;
  std::uint64_t lowest = in.batch * in.height * in.width;  // in pixels of the input, over this and all later pixels
  for (std::uint64_t p = total; p-- > 0;) {
    const std::uint64_t n = p / (out.height * out.width);
    const std::int64_t y = row_of(static_cast<std::int64_t>(p / out.width % out.height));
    const std::int64_t x = column_of(static_cast<std::int64_t>(p % out.width));
    const auto row = static_cast<std::uint64_t>(std::clamp<std::int64_t>(y, 0, static_cast<std::int64_t>(in.height)));
    const auto column = static_cast<std::uint64_t>(std::clamp<std::int64_t>(x, 0, static_cast<std::int64_t>(in.width)));
    lowest = std::min(lowest, (n * in.height + row) * in.width + column);
    std::uint64_t end = p + order.pixels;
    if (order.rows != 0) {
      const std::uint64_t band = p / out.width % out.height / order.rows;
      end = (n * out.height + std::min((band + 1) * order.rows, out.height)) * out.width;
    }
    const std::uint64_t written = std::min(end, total) * out.channels + order.beyond;
    distance = std::max(distance, static_cast<std::int64_t>(written) - static_cast<std::int64_t>(lowest * in.channels));
  }
  return static_cast<std::uint64_t>(distance);
}

constexpr std::uint64_t overlap_distance(const Geometry& g, const Order& order) {
  return overlap_distance(
      {g.batch, g.in_height, g.in_width, g.in_channels}, {g.batch, g.out_height, g.out_width, g.out_channels}, order,
      [&](std::int64_t y) { return y * g.stride_height - g.pad_top; },
      [&](std::int64_t x) { return x * g.stride_width - g.pad_left; });
}

}  // namespace cormorant::conv
