// SPDX-License-Identifier: Apache-2.0
//
// Before quantization, so that the observed range is that of the clamped output: a relu's output spends all 256 levels
// above zero.
#include <algorithm>
#include <limits>

#include "ops/nodes.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double bound(const ir::Node& node, std::string_view arg, double fallback) {
  return node.has(arg) ? node.number(arg) : fallback;
}

void set_bound(ir::Node& node, std::string_view arg, double value) {
  if (value != kInfinity && value != -kInfinity) node.set(arg, value);
}

// The largest of clamped elements is the clamped largest. So what is computed in front of a pooling clamps for it, and
// has all levels of its integers for elements that count.
ir::Node* before_pooling(ir::Graph& graph, ir::Node* pool) {
  if (pool->op != ops::nodes::aten_max_pool2d || pool->has("activation_min") || pool->has("activation_max"))
    return pool;
  ir::Value* input = pool->tensor("self");
  ir::Node* before = input->producer;
  const ops::Operator* op = before == nullptr ? nullptr : ops::find(*before);
  const bool clamps = op != nullptr && op->fuses_activation && graph.only_user(input) == pool &&
                      input->type.quant == pool->result()->type.quant;
  return clamps ? before_pooling(graph, before) : pool;
}

}  // namespace

void fuse_activations(ir::Graph& graph) {
  for (ir::Node* clamp : graph.snapshot()) {
    if (clamp->op != ops::nodes::aten_clamp) continue;
    ir::Value* input = clamp->tensor("self");
    ir::Node* producer = input->producer;
    if (producer == nullptr || graph.only_user(input) != clamp) continue;
    producer = before_pooling(graph, producer);
    // Two clamps in a row are one, whichever operator takes it.
    const bool twice = producer->op == ops::nodes::aten_clamp;
    const std::string_view min = twice ? "min" : "activation_min", max = twice ? "max" : "activation_max";
    const ops::Operator* op = ops::find(*producer);
    if ((!twice && (op == nullptr || !op->fuses_activation)) || input->type.quant != clamp->result()->type.quant)
      continue;
    // Two clamps in a row: clamp(clamp(x, a, b), c, d) = clamp(x, …) with both ends pulled into [c, d].
    const double low = bound(*clamp, "min", -kInfinity);
    const double high = bound(*clamp, "max", kInfinity);
    const auto pull = [&](double value) { return std::min(std::max(value, low), high); };
    set_bound(*producer, min, pull(bound(*producer, min, -kInfinity)));
    set_bound(*producer, max, pull(bound(*producer, max, kInfinity)));
    graph.replace_uses(clamp->result(), input);
    graph.erase(clamp);
  }
}

}  // namespace cormorant::passes
