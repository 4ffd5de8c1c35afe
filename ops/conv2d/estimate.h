// SPDX-License-Identifier: Apache-2.0
//
// Instructions of the packed kernels, within some 10 %: the inner loops are counted, what is around them was measured
// (docs/kernels.md). Host only.
#pragma once

#include "ops/conv2d/conv2d.h"

namespace cormorant::ops::conv2d {

constexpr std::int64_t estimated_instructions(const Variant& variant, const conv::Geometry& g) {
  struct Cost {
    std::int64_t sixteen;  // elements of the patch, of a block of channels × pixels
    std::int64_t block;    // its beginning and its results
    std::int64_t element;  // of a pixel's patch, to copy and widen
  };
  const auto cost_of = [](Layout layout) -> Cost {
    switch (layout) {
      case Layout::mve:
        return {7, 18, 0};
      case Layout::dsp:
        return {98, 75, 2};
      case Layout::dsp_wide:
        return {90, 62, 2};
      case Layout::scalar:
        return {152, 95, 5};
      case Layout::halves:
        return {160, 195, 4};
      case Layout::v6m:
        break;
    }
    return {168, 195, 5};
  };
  const Cost cost = cost_of(variant.layout);
  const Stream stream(variant.layout, g);
  const std::int64_t pixels = pixels_of(variant.layout);
  const std::int64_t rest = g.out_pixels() % pixels;
  const bool is_joined = g.out_height == 1 && rest == pixels - 1;  // with a pixel of the block before
  const std::int64_t blocks = g.out_pixels() / pixels + (is_joined ? 1 : rest);
  const std::int64_t patch = stream.padded_patch();
  const std::int64_t copied = variant.by_columns ? g.out_pixels() * (25 + g.stride_width * g.kernel_height * 6) : 0;
  return copied + blocks * g.groups *
                      (std::int64_t{stream.group_blocks()} * (cost.sixteen * patch / 16 + cost.block) +
                       pixels * patch * cost.element);
}

}  // namespace cormorant::ops::conv2d
