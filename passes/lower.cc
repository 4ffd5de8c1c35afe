// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/nodes.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

// Replaces a node by the result of `hook`; null keeps it.
void rewrite(ir::Graph& graph, ir::Node& node, const ops::Config& config, ir::Value* (*hook)(const ops::Rewriter&)) {
  ir::Value* replacement = hook({graph, node, config});
  if (replacement == nullptr) return;
  if (node.results.size() == 1) {
    graph.replace_uses(node.result(), replacement);
  } else {
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      graph.replace_uses(node.results[i], replacement->producer->results.at(i));
    }
  }
  graph.erase(&node);
}

// A graph may be the text of a later stage: what is already a program operator is not rewritten again. Where both have
// one name (aten.cat), lowering changes nothing the second time.
bool is_lowered(const ir::Node& node) { return ops::find_signature(node.op) != nullptr; }
bool is_canonical(const ir::Node& node, const ops::Operator& op) {
  return std::ranges::find(op.canonical, node.op) != op.canonical.end();
}
bool is_prepacked(const ir::Node& node) { return node.op.starts_with("cormorant."); }

bool is_quantized(const ir::Node& node) {
  return ops::nodes::is_conversion(node.op) || node.result()->type.is_quantized();
}

// In float, or in integers that are not quantized. (int8 without parameters may come from another compiler's text.)
bool is_plain(const ir::Node& node) { return !is_quantized(node) && node.result()->type.dtype != DType::i8; }

// A separate node after `node`, for what was fused into it.
void add_after(ir::Graph& graph, ir::Node& node, const char* suffix, const char* op,
               std::vector<ir::NamedArgument> args) {
  const std::vector<ir::Node*> users = graph.users(node.result());
  ir::Node* added = graph.add_node(node.name + suffix, op, std::move(args), {node.result()->type}, node.location,
                                   users.empty() ? nullptr : users.front());
  graph.replace_uses(node.result(), added->result());
  added->set("self", node.result());
}

void unfuse_slopes(ir::Graph& graph, ir::Node& node) {
  if (!node.has("activation_slopes")) return;
  const auto slopes = std::get<std::vector<double>>(node.get("activation_slopes"));
  node.unset("activation_slopes");
  if (slopes.size() == 1) {
    add_after(graph, node, "_prelu", ops::nodes::aten_leaky_relu,
              {{"self", node.result()}, {"negative_slope", slopes.front()}});
    return;
  }
  const std::vector<float> numbers(slopes.begin(), slopes.end());
  ir::Value* weight =
      graph.add_constant(node.name + "_slopes", ir::float_type({static_cast<std::int64_t>(numbers.size())}),
                         ir::Bytes::of(std::span<const float>(numbers)));
  add_after(graph, node, "_prelu", ops::nodes::aten_prelu, {{"self", node.result()}, {"weight", weight}});
}

// An activation that was fused into a node becomes a separate clamp again: float operators do not clamp.
void unfuse_activation(ir::Graph& graph, ir::Node& node) {
  if (!node.has("activation_min") && !node.has("activation_max")) return;
  const auto bound = [&](const char* name) { return node.has(name) ? node.get(name) : ir::Argument{}; };
  std::vector<ir::NamedArgument> args = {
      {"self", node.result()}, {"min", bound("activation_min")}, {"max", bound("activation_max")}};
  node.unset("activation_min");
  node.unset("activation_max");
  add_after(graph, node, "_clamp", ops::nodes::aten_clamp, std::move(args));
}

}  // namespace

void write_out(ir::Graph& graph) {
  const ops::Config config{.target = {}, .runtime = ops::Runtime::executorch};
  for (ir::Node* node : graph.snapshot()) {
    const ops::Operator* op = ops::find(*node);
    if (op == nullptr || op->write_out == nullptr || !is_canonical(*node, *op) || is_quantized(*node)) continue;
    const std::vector<ir::Value*> values = op->write_out({graph, *node, config});
    for (std::size_t i = 0; i < values.size(); ++i) graph.replace_uses(node->results[i], values[i]);
    graph.erase(node);
  }
}

void lower(ir::Graph& graph, const ops::Config& config) {
  compose_words(graph);
  for (ir::Node* node : graph.snapshot()) {
    if (!ops::is_float(*node)) continue;
    unfuse_activation(graph, *node);  // first: the slopes then go between the node and the clamp
    unfuse_slopes(graph, *node);
  }
  for (ir::Node* node : graph.snapshot()) {
    const ops::Operator* op = ops::find(*node);
    if (op == nullptr || (is_lowered(*node) && !is_canonical(*node, *op))) continue;
    auto* const hook = is_quantized(*node) ? op->lower : is_plain(*node) ? op->lower_float : nullptr;
    if (hook != nullptr) rewrite(graph, *node, config, hook);
  }
  // What float operators were decomposed into: views, permutations and the like.
  for (ir::Node* node : graph.snapshot()) {
    const ops::Operator* op = ops::find(*node);
    if (op == nullptr || op->lower_float == nullptr || is_lowered(*node) || !is_plain(*node)) continue;
    rewrite(graph, *node, config, op->lower_float);
  }
  graph.erase_unused();
}

void prepack(ir::Graph& graph, const ops::Config& config) {
  if (config.runtime != ops::Runtime::cormorant || config.target.is_any()) return;
  for (ir::Node* node : graph.snapshot()) {
    const ops::Operator* op = ops::find(*node);
    if (op == nullptr || op->prepack == nullptr || !is_lowered(*node) || is_prepacked(*node) || ops::is_float(*node))
      continue;
    rewrite(graph, *node, config, op->prepack);
  }
  graph.erase_unused();
}

}  // namespace cormorant::passes
