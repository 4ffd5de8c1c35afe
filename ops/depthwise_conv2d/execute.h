// SPDX-License-Identifier: Apache-2.0
//
// The loop over pixels, which all variants but MVE 3×3 share.
#pragma once

#include "kernels/conv_depthwise.h"
#include "kernels/conv_patch.h"
#include "ops/depthwise_conv2d/kernel.h"

namespace cormorant::ops::depthwise {

// compute(pixel) for each, with its table of taps; fill(to, value, count) as in kernels/move.h.
template <class Compute, class Fill>
void for_pixels(const PackedPlan& plan, Compute compute, Fill fill) {
  const conv::Header& header = *plan.header;
  const conv::Geometry& g = header.geometry;
  auto* taps = reinterpret_cast<const std::int8_t**>(plan.scratch);
  std::int8_t* zeros = plan.scratch + tap_table_bytes(g);
  fill(zeros, header.pad_value, g.in_channels);
  conv::DepthwisePixel pixel{.stream = plan.stream(),
                             .taps = taps,
                             .tap_count = g.taps(),
                             .channels = g.in_channels,
                             .out = plan.out,
                             .output = conv::output_of(header)};
  conv::Pixel place(g, plan.input);
  const std::uint32_t step = std::uint32_t{g.stride_width} * g.in_channels;
  const std::int32_t reach = (g.kernel_width - 1) * g.dilation_width;
  bool was_inside = false;  // whether the window before this one lay between the left and the right border
  for (std::uint32_t left = g.out_pixels(); left > 0; --left) {
    const bool is_inside = place.left() >= 0 && place.left() + reach < g.in_width;
    if (was_inside && is_inside && place.x() != 0) {  // all taps move by as much, but for rows above and below
      for (const std::int8_t** tap = taps; tap != taps + pixel.tap_count; ++tap) {
        if (*tap != zeros) *tap += step;
      }
    } else {
      const std::int8_t** tap = taps;
      place.for_taps(g, [&](const std::int8_t* from) { *tap++ = from == nullptr ? zeros : from; });
    }
    was_inside = is_inside;
    compute(pixel);
    pixel.out += g.out_channels;
    place.advance(g);
  }
}

}  // namespace cormorant::ops::depthwise
