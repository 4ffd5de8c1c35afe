// SPDX-License-Identifier: Apache-2.0
//
// Cycles of the packed kernels, as in ops/conv2d/estimate.h. Host only.
#pragma once

#include "ops/depthwise_conv2d/depthwise_conv2d.h"

namespace cormorant::ops::depthwise {

constexpr std::int64_t estimated_cycles(const Variant& variant, const conv::Geometry& g) {
  const Stream stream(variant, g);
  const std::int64_t taps = g.taps();
  const auto block = [&]() -> std::int64_t {
    switch (variant.layout) {
      case Layout::mve:
        return variant.is_narrow ? 95 : variant.is_3x3 ? 180 : 18 * taps + 130;
      case Layout::quad:
        return 33 * taps;
      case Layout::dsp:
        return 20 * taps;
      case Layout::dsp_wide:
        break;
    }
    return 17 * taps;
  };
  // To find a pixel's taps: MVE's blocks are channels, and each finds its own.
  const std::int64_t pixel = variant.layout == Layout::mve ? 0 : variant.layout == Layout::quad ? 290 : 250;
  return std::int64_t{g.out_pixels()} * (stream.blocks() * block() + pixel);
}

}  // namespace cormorant::ops::depthwise
