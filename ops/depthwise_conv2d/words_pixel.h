// SPDX-License-Identifier: Apache-2.0
//
// All channels of a pixel in plain loops, four at a time, for CPUs without vectors.
#pragma once

#include "kernels/move.h"
#include "ops/depthwise_conv2d/execute.h"
#include "ops/depthwise_conv2d/words_kernel.h"

namespace cormorant::ops::depthwise::words {

// From channel `first` on, a multiple of four. Weight is the stored type; rescale(sum, factor) is applied to the sum.
template <class Weight, class Rescale>
inline void compute_pixel(const conv::DepthwisePixel& pixel, std::uint32_t first, bool positive, Rescale rescale) {
  const std::uint32_t taps = pixel.tap_count;
  const std::uint8_t* record = pixel.stream + first * (8 + taps * sizeof(Weight));
  std::uint32_t offset = pixel.shift + 2 * first;
  auto* out = reinterpret_cast<std::int16_t*>(pixel.out) + first;
  for (std::uint32_t left = pixel.channels / 2 - first; left > 0;) {
    const auto* numbers = reinterpret_cast<const std::int32_t*>(record);
    const auto* weights = reinterpret_cast<const Weight*>(record + 32);
    const std::uint32_t count = left < 4 ? left : 4;
    std::int32_t sums[4] = {numbers[0], numbers[1], numbers[2], numbers[3]};
    if (count == 4) {
      const std::int8_t* const* tap = pixel.taps;
      for (std::uint32_t i = taps; i > 0; --i, weights += 4) {
        const auto* x = reinterpret_cast<const std::int16_t*>(*tap++ + offset);
        sums[0] += x[0] * weights[0];
        sums[1] += x[1] * weights[1];
        sums[2] += x[2] * weights[2];
        sums[3] += x[3] * weights[3];
      }
    } else {
      for (std::uint32_t i = 0; i < taps; ++i, weights += 4) {
        const auto* x = reinterpret_cast<const std::int16_t*>(pixel.taps[i] + offset);
        for (std::uint32_t lane = 0; lane < count; ++lane) sums[lane] += x[lane] * weights[lane];
      }
    }
    for (std::uint32_t lane = 0; lane < count; ++lane) {
      *out++ = conv::saturated_word(rescale(sums[lane], numbers[4 + lane]), positive);
    }
    record = reinterpret_cast<const std::uint8_t*>(weights);
    offset += 8;
    left -= count;
  }
}

template <class Machine, class Compute>
void convolve(const Plan& plan, const depthwise::Variant& variant, Compute compute) {
  const conv::Header header = conv2d::words::header_in_bytes(*plan.header);
  for_pixels<Machine>(conv2d::words::convolution_in_bytes(plan, header), variant, compute);
  conv2d::words::clamp_output(*plan.header, plan.out);
}

}  // namespace cormorant::ops::depthwise::words
