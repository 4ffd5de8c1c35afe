// SPDX-License-Identifier: Apache-2.0
//
// The walk over pixels of the kernels that copy patches: as many at a time as their inner loop computes.
#pragma once

#include "kernels/conv_patch.h"
#include "ops/conv2d/kernel.h"

namespace cormorant::ops::conv2d {

// compute(pixels, out, out_step): N pixels, out_step bytes apart, or the same one N times and out_step 0. Where the
// output is dense its rows are one.
template <std::uint32_t N, class Compute>
void for_blocks(const Convolution& c, Compute compute) {
  const conv::Geometry& g = c.header.geometry;
  const bool dense = c.places.is_dense(g);
  const std::uint32_t columns = dense ? g.out_pixels() : g.out_width;
  const std::uint32_t rows = dense ? 1 : g.out_height;
  const std::uint32_t images = dense ? 1 : g.batch;
  conv::Pixel pixels[N];
  conv::Pixel pixel(g, c.input);
  std::int8_t* image = c.places.out;
  for (std::uint32_t n = 0; n < images; ++n, image += c.places.image) {
    std::int8_t* row = image;
    for (std::uint32_t y = 0; y < rows; ++y, row += c.places.row) {
      std::int8_t* out = row;
      for (std::uint32_t left = columns; left > 0;) {
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
    }
  }
}

}  // namespace cormorant::ops::conv2d
