// SPDX-License-Identifier: Apache-2.0
//
// Instructions of the packed kernels, as in ops/conv2d/estimate.h. Host only.
#pragma once

#include "ops/depthwise_conv2d/depthwise_conv2d.h"

namespace cormorant::ops::depthwise {

constexpr std::int64_t estimated_instructions(const Variant& variant, const conv::Geometry& g) {
  const Stream stream(variant, g);
  const std::int64_t taps = g.taps();
  const auto block = [&]() -> std::int64_t {
    switch (variant.layout) {
      case Layout::mve:
        return variant.is_3x3 ? 66 : 8 * taps + 60;
      case Layout::quad:
        return 14 * taps + 75;
      case Layout::dsp:
        return taps / 2 * 19 + taps % 2 * 11 + 70;
      case Layout::dsp_wide:
        break;
    }
    return taps == 9 ? 120 : taps / 2 * 16 + taps % 2 * 9 + 60;
  };
  return std::int64_t{g.out_pixels()} * stream.blocks() * block();
}

}  // namespace cormorant::ops::depthwise
