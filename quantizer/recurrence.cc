// SPDX-License-Identifier: Apache-2.0
#include "quantizer/recurrence.h"

#include <algorithm>

#include "ops/nodes.h"

namespace cormorant::quantizer {
namespace {

bool keeps_h(const ir::Node* node) {
  return node != nullptr && node->op == ops::nodes::aten_recurrent && node->string("kind") != "lstm";
}

// The layer whose last h, and nothing else, this value is; null if there is none.
const ir::Node* layer_ending_in(const ir::Value* value) {
  const ir::Node* node = value->producer;
  if (node == nullptr) return nullptr;
  if (keeps_h(node)) return value == node->results[0] && value->type.shape[0] == 1 ? node : nullptr;
  if (node->op != ops::nodes::aten_slice) return nullptr;
  const ir::Value* states = node->tensor("self");
  const ir::Node* layer = states->producer;
  std::int64_t steps = 0;  // the dimension that they are along
  if (layer != nullptr && layer->op == ops::nodes::aten_permute &&
      layer->integers("dims") == std::vector<std::int64_t>{1, 0, 2}) {
    steps = 1;  // the batch comes first
    states = layer->tensor("self");
    layer = states->producer;
  }
  if (node->integer("dim") != steps) return nullptr;
  const bool is_one_step = value->type.shape.at(static_cast<std::size_t>(steps)) == 1;
  if (!keeps_h(layer) || states != layer->results[0] || !is_one_step) return nullptr;
  const std::int64_t last = layer->boolean("backwards") ? 0 : states->type.shape[0] - 1;
  return node->integer("start") == last ? layer : nullptr;
}

// Whether the initial state was given to the model.
bool is_given(const ir::Value* value) {
  while (value->producer != nullptr &&
         (value->producer->op == ops::nodes::aten_view || value->producer->op == ops::nodes::aten_slice ||
          value->producer->op == ops::nodes::aten_permute)) {
    value = value->producer->tensor("self");
  }
  return value->kind == ir::ValueKind::input;
}

class Keeper {
 public:
  explicit Keeper(ir::Graph& graph) : graph_(graph) {}

  void run(const std::unordered_set<const ir::Node*>& wide) {
    for (ir::Node* node : graph_.snapshot()) {
      if (!keeps_h(node) || !node->has("h")) continue;
      before_ = node;
      if (ir::Value* last = last_states(node->tensor("h"), false)) node->set("h", last);
    }
    for (ir::Node* node : graph_.snapshot()) {
      if (!wide.contains(node) || node->op != ops::nodes::aten_linear) continue;
      before_ = node;
      if (ir::Value* last = last_states(node->tensor("input"), false)) node->set("input", last);
    }
    before_ = nullptr;
    for (ir::Update& update : graph_.updates()) {
      if (ir::Value* last = last_states(update.value, false)) update.value = last;
    }
    for (ir::Value*& output : graph_.outputs()) {
      if (ir::Value* last = last_states(output, true)) output = last;
    }
    graph_.erase_unused();
  }

 private:
  // The value built from layers' last states instead; null if it is something else.
  ir::Value* last_states(ir::Value* value, bool only_given) {
    ir::Node* node = value->producer;
    if (const ir::Node* layer = layer_ending_in(value)) {
      if (only_given && !(layer->has("h") && is_given(layer->tensor("h")))) return nullptr;
      return view(layer->results[1], value);
    }
    if (node == nullptr) return nullptr;
    if (node->op == ops::nodes::aten_view) {
      ir::Value* inner = last_states(node->tensor("self"), only_given);
      return inner == nullptr ? nullptr : view(inner, value);
    }
    if (node->op != ops::nodes::aten_cat) return nullptr;
    std::vector<ir::Value*> parts;
    for (ir::Value* part : node->tensors("tensors")) {
      ir::Value* last = last_states(part, only_given);
      if (last == nullptr) return nullptr;
      parts.push_back(last);
    }
    return add(ops::nodes::aten_cat, {{"tensors", std::move(parts)}, {"dim", node->integer("dim")}}, value);
  }

  ir::Value* view(ir::Value* self, const ir::Value* like) {
    if (self->type.shape == like->type.shape) return self;
    return add(ops::nodes::aten_view, {{"self", self}, {"size", like->type.shape}}, like);
  }
  ir::Value* add(const char* op, std::vector<ir::NamedArgument> args, const ir::Value* like) {
    return graph_.add_node(like->producer->name, op, std::move(args), {like->type}, like->producer->location, before_)
        ->result();
  }

  ir::Graph& graph_;
  ir::Node* before_ = nullptr;
};

}  // namespace

void keep_last_states(ir::Graph& graph, const std::unordered_set<const ir::Node*>& wide) { Keeper(graph).run(wide); }

}  // namespace cormorant::quantizer
