// SPDX-License-Identifier: Apache-2.0
//
// The first step of quantization: which nodes will compute with integers, and which tensors must agree on one scale.
// Nothing in the graph changes. Each operator says by its rule how it takes part; what follows from the neighbours
// (one set of parameters along data movement, known ranges, islands of float) is decided here.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "ops/op.h"
#include "quantizer/options.h"

namespace cormorant::quantizer {

// A node that stays in float, and what to tell the user about it.
struct FloatNode {
  std::string node;
  std::string op;
  std::string source;  // module path and source line
  std::string reason;
};

// Tensors that share one set of quantization parameters.
struct Group {
  std::vector<const ir::Value*> members;  // in the graph's order
  std::optional<ops::QuantRule::Fixed> fixed;
};

struct QuantizedNode {
  ops::QuantRule rule;
  std::vector<ir::Value*> activations;  // its float operands but for those that the rule names as weights
};

struct Annotation {
  std::unordered_map<const ir::Node*, QuantizedNode> quantized;  // the others stay in float
  std::vector<FloatNode> float_nodes;                            // in the graph's order
  std::vector<Group> groups;
  std::unordered_map<const ir::Value*, std::size_t> group_of;  // every tensor that some node handles as integers
};

[[nodiscard]] Annotation annotate(const ir::Graph& graph, const QuantizeOptions& options);

}  // namespace cormorant::quantizer
