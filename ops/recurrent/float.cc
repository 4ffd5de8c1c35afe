// SPDX-License-Identifier: Apache-2.0
#include "evaluate/tensor.h"
#include "ops/op.h"
#include "ops/recurrent/pack.h"

namespace cormorant::ops {
namespace recurrent {
namespace {

// A row per gate and unit: weights of the input, weights of h, both biases. Then the projection, if there is one.
std::vector<float> packed_rows(const ir::Node& node) {
  const evaluate::Tensor w_ih = evaluate::constant_tensor(*node.tensor("w_ih"));
  const evaluate::Tensor w_hh = evaluate::constant_tensor(*node.tensor("w_hh"));
  const auto bias = [&](const char* name, std::size_t n) {
    return node.has(name) ? evaluate::constant_tensor(*node.tensor(name)).values()[n] : 0.0F;
  };
  const auto rows = static_cast<std::size_t>(w_ih.shape[0]);
  std::vector<float> packed;
  for (std::size_t n = 0; n < rows; ++n) {
    for (const evaluate::Tensor* weight : {&w_ih, &w_hh}) {
      const auto length = static_cast<std::size_t>(weight->shape[1]);
      const auto row = weight->values().subspan(n * length, length);
      packed.insert(packed.end(), row.begin(), row.end());
    }
    packed.push_back(bias("b_ih", n));
    packed.push_back(bias("b_hh", n));
  }
  if (node.has("w_hr")) {
    const evaluate::Tensor w_hr = evaluate::constant_tensor(*node.tensor("w_hr"));
    packed.insert(packed.end(), w_hr.values().begin(), w_hr.values().end());
  }
  return packed;
}

ir::Value* lower_float(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const Kind kind = *kind_of(node);
  const ir::TensorType& states = node.results.at(0)->type;
  const std::vector<float> rows = packed_rows(node);
  ir::Value* packed = rewriter.constant("packed", ir::float_type({static_cast<std::int64_t>(rows.size())}),
                                        std::span<const float>(rows));
  const auto outputs = static_cast<std::uint32_t>(states.shape[2]);
  const std::uint32_t units =
      node.has("w_hr") ? static_cast<std::uint32_t>(node.tensor("w_hr")->type.shape[1]) : outputs;
  const std::uint32_t scratch =
      float_scratch_bytes(kind, static_cast<std::uint32_t>(node.tensor("input")->type.shape[2]), units, outputs);
  if (kind == Kind::rnn_relu) {
    const FloatReluRecurrent<HostWorld> call{.input = node.tensor("input"),
                                             .h = {node.tensor("h")},
                                             .packed = packed,
                                             .backwards = node.boolean("backwards"),
                                             .scratch = {.bytes = scratch}};
    return make_node(rewriter.graph, call, {states}, node.name, node.location, &rewriter.node,
                     names::cormorant_recurrent_float_relu)
        ->result();
  }
  const FloatRecurrent<HostWorld> call{.input = node.tensor("input"),
                                       .h = {node.tensor("h")},
                                       .c = {node.tensor("c")},
                                       .packed = packed,
                                       .kind = static_cast<std::int64_t>(kind),
                                       .backwards = node.boolean("backwards"),
                                       .scratch = {.bytes = scratch}};
  return make_node(rewriter.graph, call, {states, node.results.at(1)->type}, node.name, node.location, &rewriter.node,
                   node.has("w_hr") ? names::cormorant_recurrent_float_projected : names::cormorant_recurrent_float)
      ->result();
}

}  // namespace
}  // namespace recurrent

Lower recurrent_float() { return recurrent::lower_float; }

}  // namespace cormorant::ops
