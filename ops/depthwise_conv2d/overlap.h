// SPDX-License-Identifier: Apache-2.0
//
// In which order the packed depthwise kernels read and write (kernels/conv_overlap.h): pixel by pixel, straight from
// the input or from copies of rows that were made before. MVE stores whole vectors.
#pragma once

#include <optional>

#include "kernels/conv_overlap.h"
#include "ops/depthwise_conv2d/depthwise_conv2d.h"

namespace cormorant::ops::depthwise {

constexpr std::optional<conv::Order> order_of(const Variant& variant, const conv::Header& header) {
  const conv::Geometry& g = header.geometry;
  if (variant.layout != Layout::mve) return conv::Order{1, 0};
  if (walks_columns(variant, g)) return std::nullopt;
  return conv::Order{1, 15};
}

}  // namespace cormorant::ops::depthwise
