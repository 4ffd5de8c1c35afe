// SPDX-License-Identifier: Apache-2.0
//
// The walk over pixels of the kernels that copy patches: as many at a time as their inner loop computes.
#pragma once

#include "kernels/conv_patch.h"
#include "ops/conv2d/kernel.h"

namespace cormorant::ops::conv2d {

// compute(pixels, out, out_step): N pixels, out_step bytes apart, or the same one N times and out_step 0. If all pixels
// are equally far apart, the rows are treated as one.
template <std::uint32_t N, class Compute>
void for_blocks(const Convolution& c, Compute compute) {
  const conv::Geometry& g = c.header.geometry;
  const bool one_row = c.places.is_one_row(g);
  const std::uint32_t columns = one_row ? g.out_pixels() : g.out_width;
  const std::uint32_t rows = one_row ? 1 : g.out_height;
  const std::uint32_t images = one_row ? 1 : g.batch;
  // If the only row ends with a block of one pixel too few, that block repeats the previous block's last pixel,
  // provided its input is still there: images computed row by row have short rows.
  const std::int8_t* const in_end = c.input + std::uint32_t{g.in_height} * g.in_width * g.in_channels;
  const bool repeats = g.out_height == 1 && g.batch == 1 && columns > N && columns % N == N - 1 &&
                       (c.places.out + c.places.row <= c.input || in_end <= c.places.out);
  const std::uint32_t rest = repeats ? N - 1 : 0;
  conv::Pixel pixels[N];
  conv::Pixel pixel(g, c.input);
  std::int8_t* image = c.places.out;
  for (std::uint32_t n = 0; n < images; ++n, image += c.places.image) {
    std::int8_t* row = image;
    for (std::uint32_t y = 0; y < rows; ++y, row += c.places.row) {
      std::int8_t* out = row;
      for (std::uint32_t left = columns; left > rest;) {
        const std::uint32_t count = left >= N ? N : 1;
        for (std::uint32_t i = 0; i < N; ++i) {
          pixels[i] = pixel;
          if (i < count) pixel.advance(g);
          if (count == 1 && i != 0) pixels[i] = pixels[0];
        }
        compute(pixels, out, count == 1 ? 0 : c.places.pixel);
        out += count * c.places.pixel;
        left -= count;
      }
      if (repeats) {
        pixels[0] = pixels[N - 1];
        for (std::uint32_t i = 1; i < N; ++i, pixel.advance(g)) pixels[i] = pixel;
        compute(pixels, out - c.places.pixel, c.places.pixel);
      }
    }
  }
}

}  // namespace cormorant::ops::conv2d
