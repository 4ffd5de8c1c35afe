// SPDX-License-Identifier: Apache-2.0
//
// The loop over pixels that all variants except MVE 3×3 share.
#pragma once

#include "kernels/conv_depthwise.h"
#include "ops/depthwise_conv2d/kernel.h"

namespace cormorant::ops::depthwise {

// The rows of the input as the taps see them: in place, or spread out in a ring.
template <class Machine>
class InputRows {
 public:
  InputRows(const conv::Geometry& g, const Scratch& s, std::int8_t* ring) : g_(g), s_(s), ring_(ring) {}

  void begin(const std::int8_t* image) {
    image_ = image;
    next_ = 0;
  }
  // Windows begin at ascending rows, so none before `top` is needed any more.
  void begin_window(std::int32_t top) {
    if (top > 0 && next_ < static_cast<std::uint32_t>(top)) next_ = static_cast<std::uint32_t>(top);
  }
  // `y` is inside both the input and the window.
  const std::int8_t* row(std::uint32_t y) {
    const std::uint32_t bytes = std::uint32_t{g_.in_width} * g_.in_channels;
    if (!s_.spreads) return image_ + y * bytes;
    for (; next_ <= y; ++next_) {
      Machine::spread(ring_ + slot_ * s_.ring_row, image_ + next_ * bytes, bytes, multiplier_of(g_));
      slot_ = slot_ + 1 == s_.span ? 0 : slot_ + 1;
    }
    const std::uint32_t back = next_ - y;  // 1 … span
    return ring_ + (slot_ >= back ? slot_ - back : slot_ + s_.span - back) * s_.ring_row;
  }

 private:
  const conv::Geometry& g_;
  const Scratch& s_;
  std::int8_t* ring_;
  const std::int8_t* image_ = nullptr;
  std::uint32_t next_ = 0;  // the first row that is not in the ring yet
  std::uint32_t slot_ = 0;  // and where it will be
};

// Calls compute(pixel) for each, with its table of taps. A machine has
//   fill(to, value, count)                 as in kernels/move.h
//   spread(to, from, count, times)         every byte so many times
template <class Machine, class Compute>
void for_pixels(const conv2d::Convolution& c, const Variant& variant, Compute compute) {
  const conv::Header& header = c.header;
  const conv::Geometry& g = header.geometry;
  const Scratch s(variant, g);
  auto* taps = reinterpret_cast<const std::int8_t**>(c.scratch);
  std::int8_t* zeros = c.scratch + s.taps;
  std::int8_t* tail = zeros + s.zeros + s.spill;
  Machine::fill(zeros, header.pad_value, g.out_channels);
  const std::uint32_t image_bytes = std::uint32_t{g.in_height} * g.in_width * g.in_channels;
  // From `last_whole` on, whole vectors would run past the input: there the copy of its end is read.
  const std::uint32_t input_bytes = g.batch * image_bytes;
  const std::int8_t* end = c.input + input_bytes;
  const std::int8_t* last_whole = end - s.vectors;
  if (s.tail != 0) {
    const std::uint32_t copied = input_bytes < s.vectors ? input_bytes : s.vectors;
    for (std::uint32_t i = 0; i < copied; ++i) (tail + s.vectors - copied)[i] = (end - copied)[i];
  }
  conv::DepthwisePixel pixel{.stream = c.stream,
                             .taps = taps,
                             .tap_count = g.taps(),
                             .channels = g.out_channels,
                             .out = c.places.out,
                             .output = conv::output_of(header),
                             .shift = 0,
                             .pairs = header.has_lowest_weights != 0 ? 0 : g.taps() / 2};
  const std::uint32_t step = std::uint32_t{g.stride_width} * g.out_channels;
  const std::int32_t reach = (g.kernel_width - 1) * g.dilation_width;

  InputRows<Machine> rows(g, s, tail + s.tail);
  // Fills the table of the pixel whose window begins at (top, left); returns whether all of its taps may advance
  // together.
  const auto make_table = [&](std::int32_t top, std::int32_t left) {
    const std::int8_t** tap = taps;
    bool can_move = true;
    std::int32_t y = top;
    rows.begin_window(top);
    for (std::uint32_t ky = 0; ky < g.kernel_height; ++ky, y += g.dilation_height) {
      const std::int8_t* row = y < 0 || y >= g.in_height ? nullptr : rows.row(static_cast<std::uint32_t>(y));
      std::int32_t x = left;
      for (std::uint32_t kx = 0; kx < g.kernel_width; ++kx, x += g.dilation_width) {
        const std::int8_t* from = zeros;
        if (row == nullptr || x < 0 || x >= g.in_width) {
          can_move = false;
        } else {
          from = row + static_cast<std::uint32_t>(x) * g.out_channels;
          if (s.tail != 0 && from > last_whole) {
            from = tail + (s.vectors - static_cast<std::uint32_t>(end - from));
            can_move = false;
          }
        }
        *tap++ = from;
      }
    }
    return can_move;
  };

  const std::int8_t* image = c.input;
  std::int8_t* out_image = c.places.out;
  for (std::uint32_t n = 0; n < g.batch; ++n, image += image_bytes, out_image += c.places.image) {
    rows.begin(image);
    std::int32_t top = -std::int32_t{g.pad_top};
    std::int8_t* out_row = out_image;
    for (std::uint32_t y = 0; y < g.out_height; ++y, top += g.stride_height, out_row += c.places.row) {
      pixel.out = out_row;
      std::int32_t left = -std::int32_t{g.pad_left};
      bool can_move = false;
      for (std::uint32_t x = 0; x < g.out_width; ++x, left += g.stride_width) {
        const bool moves = can_move && left + reach < g.in_width &&
                           (s.tail == 0 || taps[g.taps() - 1] + pixel.shift + step <= last_whole);
        if (moves) {
          pixel.shift += step;
        } else {
          can_move = make_table(top, left);
          pixel.shift = 0;
        }
        compute(pixel);
        pixel.out += c.places.pixel;
      }
    }
  }
}

template <class Machine, class Compute>
void for_pixels(const PackedPlan& plan, const Variant& variant, Compute compute) {
  for_pixels<Machine>(conv2d::convolution_of(plan), variant, compute);
}

// Whole blocks of four channels by a loop, the rest in plain loops. A separate function: its name contains the loop's
// type, from which the stack analysis knows what it can call.
template <class Machine, class Loop, class Plain>
[[gnu::noinline]] void convolve_pixels(const conv2d::Convolution& c, const Variant& variant, Loop loop, Plain plain) {
  for_pixels<Machine>(c, variant, [&](const conv::DepthwisePixel& pixel) {
    const std::uint32_t whole = pixel.channels & ~3U;
    if (whole != 0) loop(&pixel);
    if (whole != pixel.channels) plain(pixel, whole);
  });
}

// Every byte so many times, where nothing faster pays off.
inline void spread_plain(std::int8_t* to, const std::int8_t* from, std::uint32_t count, std::uint32_t times) {
  for (; count > 0; --count) {
    const std::int8_t value = *from++;
    for (std::uint32_t i = times; i > 0; --i) *to++ = value;
  }
}

}  // namespace cormorant::ops::depthwise
