// SPDX-License-Identifier: Apache-2.0
#include "ops/layer_norm/float.h"

#include "ops/host/float_form.h"
#include "ops/host/movement.h"
#include "ops/layer_norm/layer_norm.h"

namespace cormorant::ops {
namespace layer_norm {
namespace {

ir::Value* parameters(const Rewriter& rewriter, const char* name, std::size_t count) {
  if (!rewriter.node.has(name)) return nullptr;
  const auto& numbers = std::get<std::vector<double>>(rewriter.node.get(name));
  std::vector<float> floats;
  for (std::size_t i = 0; i < count; ++i) floats.push_back(static_cast<float>(numbers.at(i)));
  return rewriter.constant(name, ir::float_type({static_cast<std::int64_t>(count)}), std::span<const float>(floats));
}

// Seen as [rows, channels], or [batch, groups · channels, inner] where there are groups.
ir::Value* lower_float(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const std::int64_t groups = node.integer("groups");
  const std::int64_t channels = node.integer("channels");
  const std::int64_t inner = node.integer("inner");
  const ir::TensorType& type = node.result()->type;
  const std::int64_t batch = type.elements() / (groups * channels * inner);
  const bool grouped = groups != 1 || inner != 1;
  const ir::Shape seen = grouped ? ir::Shape{batch, groups * channels, inner} : ir::Shape{batch, channels};
  const Mover mover(rewriter);
  ir::Value* input = mover.view(node.tensor("input"), seen);
  ir::Value* weight = parameters(rewriter, "weight", static_cast<std::size_t>(groups * channels));
  ir::Value* bias = parameters(rewriter, "bias", static_cast<std::size_t>(groups * channels));
  const auto emit = [&](auto call, const ir::Shape& statistics, const char* op) {
    const std::vector<ir::TensorType> types = {ir::float_type(seen), ir::float_type(statistics),
                                               ir::float_type(statistics)};
    return make_node(rewriter.graph, std::move(call), types, node.name, node.location, &rewriter.node, op)
        ->results.front();
  };
  ir::Value* result = nullptr;
  if (!node.boolean("subtracts_mean")) {
    require_own_runtime(rewriter);
    result = rewriter
                 .emit(FloatRmsNorm<HostWorld>{.input = input, .weight = {weight}, .eps = node.number("eps")},
                       ir::float_type(seen), names::cormorant_rms_norm_float)
                 ->result();
  } else if (grouped) {
    result = emit(NativeGroupNorm<HostWorld>{.input = input,
                                             .weight = {weight},
                                             .bias = {bias},
                                             .N = batch,
                                             .C = groups * channels,
                                             .HxW = inner,
                                             .group = groups,
                                             .eps = node.number("eps")},
                  {batch, groups}, names::aten_native_group_norm_out);
  } else {
    result = emit(NativeLayerNorm<HostWorld>{.input = input,
                                             .normalized_shape = {channels},
                                             .weight = {weight},
                                             .bias = {bias},
                                             .eps = node.number("eps")},
                  {batch, 1}, names::aten_native_layer_norm_out);
  }
  return mover.view(result, type.shape);
}

}  // namespace
}  // namespace layer_norm

Lower layer_norm_float() { return layer_norm::lower_float; }

}  // namespace cormorant::ops
