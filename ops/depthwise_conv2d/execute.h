// SPDX-License-Identifier: Apache-2.0
//
// The loop over pixels, which all variants share.
#pragma once

#include "kernels/conv_depthwise.h"
#include "kernels/conv_patch.h"
#include "ops/depthwise_conv2d/kernel.h"

namespace cormorant::ops::depthwise {

template <class Compute, class Fill>
void for_pixels(const void* raw, Compute compute, Fill fill) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
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
  for (std::uint32_t left = g.out_pixels(); left > 0; --left) {
    const std::int8_t** tap = taps;
    place.for_taps(g, [&](const std::int8_t* from) { *tap++ = from == nullptr ? zeros : from; });
    compute(pixel);
    pixel.out += g.out_channels;
    place.advance(g);
  }
}

}  // namespace cormorant::ops::depthwise
