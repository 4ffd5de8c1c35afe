// SPDX-License-Identifier: Apache-2.0
//
// Cycles of the packed kernels, most within 20 %: fitted to the board's model (docs/cycles.md) for the zoo's layers,
// MVE on Cortex-M55, DSP on Cortex-M4, the scalar ones on Cortex-M3, v6m on Cortex-M0. They compare variants on one
// CPU, and plans. Host only.
#pragma once

#include "ops/conv2d/conv2d.h"

namespace cormorant::ops::conv2d {

constexpr std::int64_t estimated_cycles(const Variant& variant, const conv::Geometry& g) {
  struct Cost {
    std::int64_t sixteen;  // elements of the patch, of a block of channels × pixels
    std::int64_t block;    // its setup and its results
    std::int64_t element;  // of a pixel's patch, to copy and widen
  };
  const auto cost_of = [](Layout layout) -> Cost {
    switch (layout) {
      case Layout::mve:
        return {15, 47, 1};
      case Layout::dsp:
        return {84, 148, 12};
      case Layout::dsp_wide:
        return {76, 132, 12};
      case Layout::scalar:
        return {303, 202, 14};
      case Layout::halves:
        return {153, 127, 16};
      default:
        break;
    }
    return {225, 270, 21};
  };
  const Cost cost = cost_of(without_slopes(variant.layout));
  const Stream stream(variant.layout, g);
  const std::int64_t pixels = pixels_of(variant.layout);
  const std::int64_t rest = g.out_pixels() % pixels;
  const bool is_joined = g.out_height == 1 && rest == pixels - 1;  // with a pixel of the previous block
  const std::int64_t blocks = g.out_pixels() / pixels + (is_joined ? 1 : rest);
  const std::int64_t patch = stream.padded_patch();
  const std::int64_t copied = variant.by_columns ? g.out_pixels() * (25 + g.stride_width * g.kernel_height * 6) : 0;
  return copied + blocks * g.groups *
                      (std::int64_t{stream.group_blocks()} * (cost.sixteen * patch / 16 + cost.block) +
                       pixels * patch * cost.element);
}

}  // namespace cormorant::ops::conv2d
