// SPDX-License-Identifier: Apache-2.0
//
// Blocks of four channels in plain loops, for any rounding and clamp; each instruction set compiles it for itself.
#pragma once

#include "kernels/conv_depthwise.h"
#include "kernels/requantize.h"

namespace cormorant::conv {

inline void depthwise_pixel_plain(const DepthwisePixel& p, std::uint32_t first) {
  const std::uint32_t record = 4 * (4 + p.tap_count + 4 + 2);
  const std::uint8_t* stream = p.stream + first / 4 * record;
  for (std::uint32_t block = first; block < p.channels; block += 4, stream += record) {
    const auto* bias = reinterpret_cast<const std::int32_t*>(stream);
    const auto* multipliers = reinterpret_cast<const std::int32_t*>(stream + 16 + 4 * p.tap_count);
    const auto* shifts = reinterpret_cast<const std::int8_t*>(stream + 32 + 4 * p.tap_count);
    const std::uint32_t lanes = p.channels - block < 4 ? p.channels - block : 4;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      std::int32_t sum = bias[lane];
      const auto* weights = reinterpret_cast<const std::int8_t*>(stream + 16 + lane);
      for (std::uint32_t tap = 0; tap < p.tap_count; ++tap, weights += 4)
        sum += p.taps[tap][p.shift + block + lane] * *weights;
      const std::int32_t value =
          requantize_for_cpu(sum, multipliers[lane], shifts[lane] + shifts[4 + lane]) + p.output.offset;
      p.out[block + lane] = static_cast<std::int8_t>(clamp(value, p.output.min, p.output.max));
    }
  }
}

}  // namespace cormorant::conv
