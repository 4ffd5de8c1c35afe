// SPDX-License-Identifier: Apache-2.0
//
// How far a convolution's output must begin before its input, so that both can lie in the same memory: the kernel walks
// over both from the beginning to the end, and what it writes covers only what it has read for the last time.
// Host only; the facts about the kernels stand in their operators' headers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/conv_geometry.h"

namespace cormorant::conv {

// What a kernel promises: it computes output pixels in memory order, `pixels` at a time. Before it writes the first
// byte of these it has read all that earlier ones needed, and while it writes them it may still read for any of them.
// Stores reach up to `beyond` bytes behind the pixels.
struct Order {
  std::uint32_t pixels = 1;
  std::uint32_t beyond = 0;
};

// For every block of pixels: the end of what is written less the lowest place that it or a later one reads.
constexpr std::uint64_t overlap_distance(const Geometry& g, const Order& order) {
  const std::uint64_t image = std::uint64_t{g.in_height} * g.in_width;
  const std::uint64_t total = g.out_pixels();
  std::int64_t distance = 0;
  std::uint64_t lowest = g.batch * image;  // in pixels of the input; of all that come behind
  for (std::uint64_t p = total; p-- > 0;) {
    const std::uint64_t n = p / (std::uint64_t{g.out_height} * g.out_width);
    const std::int64_t y = static_cast<std::int64_t>(p / g.out_width % g.out_height) * g.stride_height - g.pad_top;
    const std::int64_t x = static_cast<std::int64_t>(p % g.out_width) * g.stride_width - g.pad_left;
    const std::int64_t row = std::clamp<std::int64_t>(y, 0, g.in_height);
    const std::int64_t column = std::clamp<std::int64_t>(x, 0, g.in_width);
    lowest = std::min(lowest, n * image + static_cast<std::uint64_t>(row * g.in_width + column));
    const std::uint64_t written = std::min(p + order.pixels, total) * g.out_channels + order.beyond;
    distance =
        std::max(distance, static_cast<std::int64_t>(written) - static_cast<std::int64_t>(lowest * g.in_channels));
  }
  return static_cast<std::uint64_t>(distance);
}

}  // namespace cormorant::conv
