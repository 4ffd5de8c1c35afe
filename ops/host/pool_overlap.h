// SPDX-License-Identifier: Apache-2.0
//
// Operator::overlap of poolings: pixel by pixel, on the host and on every CPU, so the output may cover the part of the
// input whose windows are done. Host only.
#pragma once

#include "kernels/conv_overlap.h"
#include "ops/op.h"

namespace cormorant::ops {

inline std::optional<std::uint64_t> pool_overlap(const ir::Node& node, std::string_view argument) {
  // Twins with explicit layout come only from other compilers.
  if (argument != "input" || node.op.find("_nhwc") != std::string::npos) return std::nullopt;
  if (node.result()->type.dtype != DType::i8) return std::nullopt;
  const auto image = [](const ir::Value* value) {
    const auto size = [&](std::size_t dim) { return static_cast<std::uint64_t>(value->type.shape[dim]); };
    return conv::Image{size(0), size(2), size(3), size(1)};
  };
  const conv::Image in = image(node.tensor("input")), out = image(node.result());
  const std::vector<std::int64_t>& strides = node.integers("stride");
  const std::vector<std::int64_t>& padding = node.integers("padding");
  const auto start = [&](std::size_t axis, std::uint64_t input, std::uint64_t output) {
    return [&, axis, input, output](std::int64_t i) {
      const bool is_adaptive = strides[axis] == 0;
      return is_adaptive ? i * static_cast<std::int64_t>(input) / static_cast<std::int64_t>(output)
                         : i * strides[axis] - padding[axis];
    };
  };
  return conv::overlap_distance(in, out, {}, start(0, in.height, out.height), start(1, in.width, out.width));
}

}  // namespace cormorant::ops
