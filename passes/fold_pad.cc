// SPDX-License-Identifier: Apache-2.0
//
// A convolution can pad with zeros itself, the same on both sides. Uneven padding stays a node here; prepacked
// convolutions, which have four borders, absorb it later.
#include <algorithm>

#include "ops/nodes.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

// What the node adds to height and width on each side; empty if it does anything else.
std::vector<std::int64_t> spatial_padding(const ir::Node& pad) {
  std::vector<std::int64_t> borders = pad.integers("pad");  // last dimension first: left, right, top, bottom
  if (pad.tensor("self")->type.rank() != 4 || pad.number("value") != 0 || borders.size() > 8) return {};
  borders.resize(8, 0);
  const bool even = borders[0] == borders[1] && borders[2] == borders[3] && borders[0] >= 0 && borders[2] >= 0;
  const bool spatial = std::all_of(borders.begin() + 4, borders.end(), [](std::int64_t n) { return n == 0; });
  return even && spatial ? std::vector<std::int64_t>{borders[2], borders[0]} : std::vector<std::int64_t>{};
}

}  // namespace

void fold_pad(ir::Graph& graph) {
  for (ir::Node* conv : graph.snapshot()) {
    if (conv->op != ops::nodes::aten_conv2d) continue;
    const ir::Node* pad = conv->tensor("input")->producer;
    if (pad == nullptr || pad->op != ops::nodes::aten_pad) continue;
    const std::vector<std::int64_t> borders = spatial_padding(*pad);
    std::vector<std::int64_t> padding = conv->integers("padding");
    if (borders.empty() || padding.size() != 2 || pad->tensor("self")->type.quant != pad->result()->type.quant)
      continue;
    for (std::size_t i = 0; i < 2; ++i) padding[i] += borders[i];
    conv->set("padding", padding);
    conv->set("input", pad->tensor("self"));
  }
  graph.erase_unused();
}

}  // namespace cormorant::passes
