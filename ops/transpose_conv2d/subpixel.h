// SPDX-License-Identifier: Apache-2.0
//
// A transposed convolution as an ordinary one: with stride s, every s-th row of the result sees the same taps of the
// kernel, so a convolution of the input without gaps computes s rows at once, as channels that a shuffle turns into
// rows. Along one axis:
//
//     result[s · q + r − padding] = Σ_t input[q − t] · kernel[r + s · t]
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "ir/graph.h"

namespace cormorant::ops::transpose_conv2d {

struct SubpixelAxis {
  std::int64_t stride, taps;
  std::int64_t padding;  // of the convolution, at either end
  std::int64_t count;    // of its results; shuffled they are stride times as many
  std::int64_t cut;      // of these, before the first one that is wanted
};

// None if more zeros would be needed after the input than before it.
inline std::optional<SubpixelAxis> subpixel_axis(std::int64_t inputs, std::int64_t outputs, std::int64_t kernel,
                                                 std::int64_t stride, std::int64_t padding) {
  SubpixelAxis axis{.stride = stride, .taps = (kernel + stride - 1) / stride, .padding = 0, .count = 0, .cut = 0};
  const std::int64_t skipped = std::min(padding / stride, axis.taps - 1);
  axis.padding = axis.taps - 1 - skipped;
  axis.count = inputs + 2 * axis.padding - (axis.taps - 1);
  axis.cut = padding - stride * skipped;
  if (axis.count < 1 || axis.count * stride < axis.cut + outputs) return std::nullopt;
  return axis;
}

struct Subpixel {
  SubpixelAxis y, x;
};

// Of an aten.conv_transpose2d.
inline std::optional<Subpixel> subpixel_of(const ir::Node& node) {
  const ir::Shape &in = node.tensor("input")->type.shape, &out = node.result()->type.shape;
  const ir::Shape& weight = node.tensor("weight")->type.shape;
  const auto &stride = node.integers("stride"), &padding = node.integers("padding");
  const auto& dilation = node.integers("dilation");
  if (node.integer("groups") != 1 || dilation[0] != 1 || dilation[1] != 1) return std::nullopt;
  const auto y = subpixel_axis(in[2], out[2], weight[2], stride[0], padding[0]);
  const auto x = subpixel_axis(in[3], out[3], weight[3], stride[1], padding[1]);
  if (!y || !x) return std::nullopt;
  return Subpixel{*y, *x};
}

}  // namespace cormorant::ops::transpose_conv2d
