// SPDX-License-Identifier: Apache-2.0
//
// In which order the packed kernels of conv2d read and write (kernels/conv_overlap.h), which decides whether an output
// may cover its input. The host's references compute pixel by pixel, which every order here allows for.
#pragma once

#include <optional>

#include "kernels/conv_overlap.h"
#include "ops/conv2d/conv2d.h"

namespace cormorant::ops::conv2d {

constexpr std::optional<conv::Order> order_of(const Variant& variant, const conv::Header& header) {
  const conv::Geometry& g = header.geometry;
  // The latter of a text from anywhere.
  if (variant.by_columns || variant.name == kMveSum.name || !is_computable(variant, g)) return std::nullopt;
  if (without_slopes(variant.layout) != Layout::mve) return conv::Order{pixels_of(variant.layout), 0};
  switch (variant.pointwise ? Walk::rows : walk_of(g)) {
    case Walk::rows:
      // Groups, and channels past the last four, each take a separate pass over a row.
      if (g.groups != 1 || g.out_channels % 4 != 0) return std::nullopt;
      return conv::Order{2, 0};
    case Walk::columns:
      return conv::Order{.rows = Stretch(g, header.bands).outputs * g.dilation_height};
    case Walk::pixels:
      return conv::Order{2, 0};
  }
  return std::nullopt;
}

}  // namespace cormorant::ops::conv2d
