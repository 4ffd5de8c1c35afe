// SPDX-License-Identifier: Apache-2.0
//
// Convolution of 16-bit activations as plain loops: where each output's inputs are. Host only.
#pragma once

#include <cstdint>

#include "kernels/conv_geometry.h"

namespace cormorant::ops::conv2d::words {

// compute(channel, element) returns an output; element(k) is the k-th input of its window: ky, kx, channel of the
// group.
template <class Compute>
void reference_words(const conv::Geometry& g, const std::int16_t* input, std::int16_t* out, Compute compute) {
  const std::uint32_t inputs = g.in_channels / g.groups, outputs = g.out_channels / g.groups;
  for (std::int32_t n = 0; n < g.batch; ++n) {
    for (std::int32_t y = 0; y < g.out_height; ++y) {
      for (std::int32_t x = 0; x < g.out_width; ++x) {
        for (std::uint32_t channel = 0; channel < g.out_channels; ++channel) {
          *out++ = compute(channel, [&](std::uint32_t k) -> std::int32_t {
            const std::uint32_t tap = k / inputs;
            const std::int32_t iy =
                y * g.stride_height + static_cast<std::int32_t>(tap / g.kernel_width) * g.dilation_height - g.pad_top;
            const std::int32_t ix =
                x * g.stride_width + static_cast<std::int32_t>(tap % g.kernel_width) * g.dilation_width - g.pad_left;
            if (iy < 0 || iy >= g.in_height || ix < 0 || ix >= g.in_width) return 0;
            const std::int64_t pixel = (std::int64_t{n} * g.in_height + iy) * g.in_width + ix;
            return input[pixel * g.in_channels + channel / outputs * inputs + k % inputs];
          });
        }
      }
    }
  }
}

}  // namespace cormorant::ops::conv2d::words
