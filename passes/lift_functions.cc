// SPDX-License-Identifier: Apache-2.0
//
// A convolution in three dimensions is imported as one in two, with a view and a permutation before it and after it. A
// function of single elements that follows (relu, or any other) is done before these, on the images: then it can become
// part of the convolution, and where the next convolution follows, its view and permutation undo those.
#include <algorithm>

#include "ops/nodes.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

bool is_movement(const ir::Node* node) {
  return node != nullptr && (node->op == ops::nodes::aten_view || node->op == ops::nodes::aten_permute);
}

bool is_function(const ir::Node& node) {
  const ops::Operator* op = ops::find(node);
  if (op == nullptr || !op->elementwise || node.results.size() != 1 || node.inputs().size() != 1) return false;
  return node.result()->type == node.inputs().front()->type && node.result()->type.rank() > 4;
}

// The first of the views and permutations between a convolution and the node, which nothing else reads.
ir::Node* first_movement(ir::Graph& graph, const ir::Node& node) {
  ir::Node* first = nullptr;
  const ir::Node* reader = &node;
  for (ir::Value* value = node.inputs().front(); graph.only_user(value) == reader && !graph.is_kept(value);) {
    ir::Node* producer = value->producer;
    if (producer == nullptr) return nullptr;
    if (producer->op == ops::nodes::aten_conv2d) return first;
    if (!is_movement(producer)) return nullptr;
    reader = first = producer;
    value = producer->tensor("self");
  }
  return nullptr;
}

void lift(ir::Graph& graph, ir::Node& function) {
  ir::Node* first = first_movement(graph, function);
  if (first == nullptr) return;
  ir::Value* moved = function.inputs().front();
  ir::Value* images = first->tensor("self");
  ir::Node* lifted =
      graph.add_node(function.name, function.op, function.args, {images->type}, function.location, first);
  lifted->replace_use(moved, images);
  first->set("self", lifted->result());
  graph.replace_uses(function.result(), moved);
  graph.erase(&function);
}

// One movement instead of two of a kind, and none where nothing moves.
bool merge(ir::Graph& graph) {
  bool changed = false;
  for (ir::Node* node : graph.snapshot()) {
    if (!is_movement(node)) continue;
    ir::Value* self = node->tensor("self");
    const ir::Node* before = self->producer;
    if (before != nullptr && before->op == node->op) {
      if (node->op == ops::nodes::aten_permute) {
        std::vector<std::int64_t> dims;
        for (const std::int64_t dim : node->integers("dims")) {
          dims.push_back(before->integers("dims").at(static_cast<std::size_t>(dim)));
        }
        node->set("dims", std::move(dims));
      }
      self = before->tensor("self");
      node->set("self", self);
      changed = true;
    }
    bool stays = self->type != node->result()->type;
    if (node->op == ops::nodes::aten_permute) {
      const std::vector<std::int64_t>& dims = node->integers("dims");
      stays = !std::ranges::is_sorted(dims);
    }
    if (stays || graph.is_kept(node->result())) continue;
    graph.replace_uses(node->result(), self);
    graph.erase(node);
    changed = true;
  }
  graph.erase_unused();
  return changed;
}

}  // namespace

void lift_functions(ir::Graph& graph) {
  bool has_volumes = false;
  for (ir::Node* node : graph.snapshot()) {
    if (!is_function(*node)) continue;
    lift(graph, *node);
    has_volumes = true;
  }
  while (has_volumes && merge(graph)) {
  }
}

}  // namespace cormorant::passes
