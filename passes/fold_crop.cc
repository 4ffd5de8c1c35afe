// SPDX-License-Identifier: Apache-2.0
//
// A causal convolution is usually written as one that pads on both sides, followed by a crop of the outputs that see
// the future. The cropped outputs need not be computed: the convolution pads unevenly instead, which a prepacked one
// does at no cost.
#include <algorithm>

#include "ops/nodes.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

// Zeros before and after the input such that the convolution yields exactly the slice; negative: it would have to drop
// inputs.
struct Borders {
  std::int64_t before, after;
};

Borders borders_for(const ir::Node& conv, const ir::Node& slice, std::size_t spatial) {
  const std::int64_t stride = conv.integers("stride")[spatial];
  const std::int64_t window =
      conv.integers("dilation")[spatial] * (conv.tensor("weight")->type.shape[2 + spatial] - 1) + 1;
  const std::int64_t input = conv.tensor("input")->type.shape[2 + spatial];
  const std::int64_t outputs = slice.result()->type.shape[2 + spatial];
  const std::int64_t before = conv.integers("padding")[spatial] - slice.integer("start") * stride;
  return {before, (outputs - 1) * stride + window - input - before};
}

bool is_crop(ir::Graph& graph, const ir::Node& slice) {
  if (slice.op != ops::nodes::aten_slice || slice.integer("step") != 1 || slice.integer("dim") < 2) return false;
  const ir::Value* input = slice.tensor("self");
  return input->producer != nullptr && input->producer->op == ops::nodes::aten_conv2d && input->type.rank() == 4 &&
         graph.only_user(input) == &slice && input->producer->integers("padding").size() == 2;
}

}  // namespace

void fold_crop(ir::Graph& graph) {
  for (ir::Node* slice : graph.snapshot()) {
    if (!is_crop(graph, *slice)) continue;
    ir::Node& conv = *slice->tensor("self")->producer;
    const auto spatial = static_cast<std::size_t>(slice->integer("dim") - 2);
    const Borders borders = borders_for(conv, *slice, spatial);
    if (borders.before < 0 || borders.after < 0) continue;
    std::vector<std::int64_t> padding = conv.integers("padding");
    padding[spatial] = 0;
    conv.set("padding", padding);
    if (borders.before > 0 || borders.after > 0) {
      ir::Value* input = conv.tensor("input");
      ir::TensorType type = input->type;
      type.shape[2 + spatial] += borders.before + borders.after;
      std::vector<std::int64_t> pad(spatial == 1 ? 2 : 4, 0);  // last dimension first
      pad[pad.size() - 2] = borders.before;
      pad[pad.size() - 1] = borders.after;
      conv.set("input",
               graph
                   .add_node(conv.name + "_pad", ops::nodes::aten_pad, {{"self", input}, {"pad", pad}, {"value", 0.0}},
                             {std::move(type)}, conv.location, &conv)
                   ->result());
    }
    conv.result()->type.shape = slice->result()->type.shape;
    graph.replace_uses(slice->result(), conv.result());
    graph.erase(slice);
  }
}

}  // namespace cormorant::passes
