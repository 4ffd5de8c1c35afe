// SPDX-License-Identifier: Apache-2.0
//
// The first step of quantization: which nodes will compute with integers, and which tensors must agree on one scale.
// Nothing in the graph changes. Each operator's rule says how it takes part; the consequences for neighbours (one set
// of parameters along data movement, known ranges, islands of float) are decided here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ops/op.h"
#include "quantizer/options.h"
#include "quantizer/weights.h"

namespace cormorant::quantizer {

// A node that stays in float, and what to report about it.
struct FloatNode {
  std::string node;
  std::string op;
  std::string source;  // module path and source line
  std::string reason;
};

// Why a node has no 4-bit weights: nothing that a user could change.
inline constexpr const char* kNoWeights = "it has no weights";

// What became of one node.
struct Decision {
  std::string node, op, source;
  std::string precision = {};  // "8w8a", "8w16a", "4w8a"; empty in float
  std::string instead = {};    // why its precision differs from the requested one; empty if it does not
  // "own range", "shared range", "known range", "part of a known range", "the model's parameters", or "float"
  std::string rule = {};
  std::string reason = {};                             // of a node in float
  std::string observer = {};                           // whose range it is: "mse", "minmax", …; empty for a known range
  std::string shares = {};                             // the other tensors of a shared range, with commas between
  std::optional<std::pair<double, double>> seen = {};  // smallest and largest, where it was observed
  double scale = 0;
  std::int32_t zero_point = 0;
  std::optional<std::size_t> rounded_otherwise = {};  // weights not rounded to the nearest, where it was tried
  std::string weights = {};                           // "int8 per channel, scales 0.001 to 0.02"; empty without
};

// Tensors that share one set of quantization parameters.
struct Group {
  std::vector<const ir::Value*> members;  // in the graph's order
  std::optional<ops::QuantRule::Fixed> fixed;
  bool is_wide = false;  // 16 bits
};

struct QuantizedNode {
  ops::QuantRule rule;
  std::vector<ir::Value*> activations;  // its float operands except those that the rule names as weights
  ops::Precision precision = ops::Precision::w8a8;
  std::string instead = {};  // why it is not the requested one
};

struct Annotation {
  std::unordered_map<const ir::Node*, QuantizedNode> quantized;  // the others stay in float
  std::vector<FloatNode> float_nodes;                            // in the graph's order
  std::vector<Group> groups;
  std::unordered_map<const ir::Value*, std::size_t> group_of;  // every tensor that some node handles as integers
  std::unordered_set<const ir::Value*> float_states;           // running sums: converted to integers where needed
  // Where a node needs a tensor in other integers than its group has: 16 bits of what has 8, or vice versa.
  std::map<std::tuple<const ir::Node*, std::string, const ir::Value*>, std::size_t> converted;

  // Whose parameters a quantized node expects for an argument.
  [[nodiscard]] std::size_t group_for(const ir::Node& node, const std::string& argument, const ir::Value* value) const;
  // The scales of what the node's weights multiply.
  [[nodiscard]] FactorScales factors_of(const ir::Node& node, const std::vector<ir::QuantParams>& params) const;
};

// Nodes that compute with 16-bit activations whatever the scheme: a log_softmax that the program returns as floats, and
// the linear layer before it if that costs next to nothing.
[[nodiscard]] std::unordered_set<const ir::Node*> wide_ends(const ir::Graph& graph, const QuantizeOptions& options);

[[nodiscard]] Annotation annotate(const ir::Graph& graph, const QuantizeOptions& options);

}  // namespace cormorant::quantizer
