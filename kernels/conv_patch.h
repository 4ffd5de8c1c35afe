// SPDX-License-Identifier: Apache-2.0
//
// Walks over output pixels and hands out their patches as runs: in NHWC a row of the window is contiguous, so a patch
// is kernel_height runs, and only at the image's edge is a run cut into padding, input, padding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/conv_geometry.h"

namespace cormorant::conv {

// Output pixels in memory order, with the position of the window's first tap in the input.
class Pixel {
 public:
  Pixel() = default;
  Pixel(const Geometry& g, const std::int8_t* input)
      : image_(input), top_(-std::int32_t{g.pad_top}), left_(-std::int32_t{g.pad_left}) {}

  void advance(const Geometry& g) {
    left_ += g.stride_width;
    if (++x_ < g.out_width) return;
    x_ = 0;
    left_ = -std::int32_t{g.pad_left};
    top_ += g.stride_height;
    if (++y_ < g.out_height) return;
    y_ = 0;
    top_ = -std::int32_t{g.pad_top};
    image_ += std::size_t{g.in_height} * g.in_width * g.in_channels;
  }

  // run(from, count): `count` elements of the patch, from the input or, if `from` is null, padding. For a grouped
  // convolution a patch is one group's channels, starting at `first`.
  template <class Run>
  void for_runs(const Geometry& g, std::uint32_t first, Run&& run) const {
    if (g.groups != 1) {
      for_taps(g, [&](const std::int8_t* from) { run(from == nullptr ? from : from + first, g.group_inputs()); });
    } else {
      for_whole_runs(g, run);
    }
  }
  template <class Run>
  void for_whole_runs(const Geometry& g, Run&& run) const {
    const std::size_t channels = g.in_channels;
    std::int32_t y = top_;
    for (std::uint32_t ky = 0; ky < g.kernel_height; ++ky, y += g.dilation_height) {
      if (y < 0 || y >= g.in_height) {
        run(nullptr, g.kernel_width * channels);
        continue;
      }
      const std::int8_t* row = image_ + static_cast<std::size_t>(y) * g.in_width * channels;
      if (g.dilation_width == 1) {
        const std::int32_t end = left_ + g.kernel_width;
        if (left_ >= 0 && end <= g.in_width) {
          run(row + static_cast<std::size_t>(left_) * channels, g.kernel_width * channels);
          continue;
        }
        const std::int32_t from = left_ < 0 ? 0 : left_;
        const std::int32_t to = end > g.in_width ? g.in_width : end;
        if (from >= to) {  // the window is entirely outside the input
          run(nullptr, g.kernel_width * channels);
          continue;
        }
        if (from > left_) run(nullptr, static_cast<std::size_t>(from - left_) * channels);
        run(row + static_cast<std::size_t>(from) * channels, static_cast<std::size_t>(to - from) * channels);
        if (end > to) run(nullptr, static_cast<std::size_t>(end - to) * channels);
        continue;
      }
      std::int32_t x = left_;
      for (std::uint32_t kx = 0; kx < g.kernel_width; ++kx, x += g.dilation_width) {
        const bool inside = x >= 0 && x < g.in_width;
        run(inside ? row + static_cast<std::size_t>(x) * channels : nullptr, channels);
      }
    }
  }

  // tap(from): the channels under one tap of the window, null for padding.
  template <class Tap>
  void for_taps(const Geometry& g, Tap&& tap) const {
    std::int32_t y = top_;
    for (std::uint32_t ky = 0; ky < g.kernel_height; ++ky, y += g.dilation_height) {
      std::int32_t x = left_;
      for (std::uint32_t kx = 0; kx < g.kernel_width; ++kx, x += g.dilation_width) {
        const bool inside = y >= 0 && y < g.in_height && x >= 0 && x < g.in_width;
        tap(inside ? image_ + (static_cast<std::size_t>(y) * g.in_width + static_cast<std::size_t>(x)) * g.in_channels
                   : nullptr);
      }
    }
  }

  // Whether no tap lies in the padding.
  [[nodiscard]] bool is_inside(const Geometry& g) const {
    const auto bottom = static_cast<std::int32_t>((g.kernel_height - 1U) * g.dilation_height);
    const auto right = static_cast<std::int32_t>((g.kernel_width - 1U) * g.dilation_width);
    return top_ >= 0 && left_ >= 0 && top_ + bottom < g.in_height && left_ + right < g.in_width;
  }
  // The first tap's position in the input, if it is inside.
  [[nodiscard]] const std::int8_t* first_tap(const Geometry& g) const {
    return image_ + (static_cast<std::size_t>(top_) * g.in_width + static_cast<std::size_t>(left_)) * g.in_channels;
  }

  [[nodiscard]] std::int32_t top() const { return top_; }
  [[nodiscard]] std::int32_t left() const { return left_; }
  [[nodiscard]] std::uint32_t x() const { return x_; }
  [[nodiscard]] const std::int8_t* image() const { return image_; }

 private:
  const std::int8_t* image_ = nullptr;
  std::int32_t top_ = 0;
  std::int32_t left_ = 0;
  std::uint32_t x_ = 0;
  std::uint32_t y_ = 0;
};

// The taps of N pixels, for groups, which read some channels of each. A tap in the padding points to a pixel of padding
// that follows the table.
template <std::uint32_t N>
class TapTable {
 public:
  TapTable(const Header& header, void* memory)
      : taps_(header.geometry.taps()),
        table_(static_cast<const std::int8_t**>(memory)),
        outside_(reinterpret_cast<std::int8_t*>(table_ + std::size_t{N} * taps_)) {
    for (std::uint32_t i = 0; i < header.geometry.in_channels; ++i) outside_[i] = header.pad_value;
  }

  void look_up(const Geometry& g, const Pixel (&pixels)[N]) {
    const std::int8_t** to = table_;
    for (const Pixel& pixel : pixels) {
      pixel.for_taps(g, [&](const std::int8_t* from) { *to++ = from == nullptr ? outside_ : from; });
    }
  }
  // Of one pixel, in place of the first one's. An odd last tap is there twice: loops may take pairs of taps.
  void look_up_pairs(const Geometry& g, const Pixel& pixel) {
    static_assert(N >= 2);
    const std::int8_t** to = table_;
    pixel.for_taps(g, [&](const std::int8_t* from) { *to++ = from == nullptr ? outside_ : from; });
    to[0] = to[-1];
  }
  [[nodiscard]] const std::int8_t* const* taps_of(std::uint32_t pixel) const {
    return table_ + std::size_t{pixel} * taps_;
  }

 private:
  std::uint32_t taps_;
  const std::int8_t** table_;
  std::int8_t* outside_;
};

}  // namespace cormorant::conv
