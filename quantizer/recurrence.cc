// SPDX-License-Identifier: Apache-2.0
#include "quantizer/recurrence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "evaluate/graph.h"
#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::quantizer {
namespace {

bool keeps_h(const ir::Node* node) {
  if (node == nullptr || node->op != ops::nodes::aten_recurrent) return false;
  return node->string("kind") == "gru" || node->string("kind") == "rnn_tanh";
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

bool holds_at_most_one(const ir::Value& value) {
  return std::ranges::all_of(evaluate::constant_tensor(value).values(), [](float v) { return std::abs(v) <= 1; });
}

// What cannot leave ±1, whatever the inputs are. A state cannot if it begins so and becomes such a value.
class Bounds {
 public:
  explicit Bounds(const ir::Graph& graph) {
    for (const ir::Update& update : graph.updates()) next_.emplace(update.state, update.value);
  }

  [[nodiscard]] bool hold(const ir::Value& value) const {
    std::vector<const ir::Value*> open;  // all of these must hold, and what they are made of
    std::unordered_set<const ir::Value*> seen;
    const auto require = [&](const ir::Value* cause) {
      if (seen.insert(cause).second) open.push_back(cause);
    };
    require(&value);
    while (!open.empty()) {
      const ir::Value* next = open.back();
      open.pop_back();
      if (next->kind == ir::ValueKind::constant || next->kind == ir::ValueKind::state) {
        if (!holds_at_most_one(*next)) return false;
        if (const auto update = next_.find(next); update != next_.end()) require(update->second);
        continue;
      }
      const ir::Node* node = next->producer;
      if (node == nullptr) return false;
      if (is_bounded(*node, *next)) continue;
      if (keeps_h(node)) {
        require(node->tensor("h"));
      } else if (moves(*node)) {
        std::ranges::for_each(node->inputs(), require);
      } else {
        return false;
      }
    }
    return true;
  }

 private:
  static bool is_bounded(const ir::Node& node, const ir::Value& result) {
    if (node.op == ops::nodes::aten_recurrent) {
      if (keeps_h(&node)) return node.string("kind") == "rnn_tanh" || !node.has("h");
      return node.string("kind") == "lstm" && !node.has("w_hr") && &result == node.results[0];
    }
    return node.op == ops::nodes::aten_tanh || node.op == ops::nodes::aten_sigmoid ||
           node.op == ops::nodes::aten_softmax;
  }
  static bool moves(const ir::Node& node) {
    constexpr std::string_view kMovers[] = {ops::nodes::aten_view, ops::nodes::aten_slice, ops::nodes::aten_permute,
                                            ops::nodes::aten_cat, ops::nodes::aten_expand};
    return std::ranges::find(kMovers, node.op) != std::end(kMovers);
  }

  std::unordered_map<const ir::Value*, const ir::Value*> next_;
};

// What saturation at ±1 would take off the samples of a value.
struct Excess {
  float low = 0, high = 0;
  double signal = 0, error = 0;
  void add(std::span<const float> values) {
    for (const float value : values) {
      const double beyond = std::max(0.0, std::abs(double{value}) - 1);
      low = std::min(low, value);
      high = std::max(high, value);
      signal += double{value} * double{value};
      error += beyond * beyond;
    }
  }
};

}  // namespace

std::vector<std::string> write_out_unbounded(ir::Graph& graph, const Samples& samples) {
  constexpr double kNegligible = 1e-4;  // 40 dB
  std::unordered_map<const ir::Value*, Excess> all;
  for (const ir::Node& node : graph.nodes()) {
    if (!keeps_h(&node) || !node.has("h")) continue;
    const ir::Value* h = node.tensor("h");
    if (Bounds(graph).hold(*h)) continue;
    if (h->kind == ir::ValueKind::constant) {
      all[h].add(evaluate::constant_tensor(*h).values());
    } else {
      all[h];
    }
  }
  if (all.empty()) return {};
  {
    const evaluate::Evaluator evaluator(graph);
    for (std::size_t i = 0; i < samples.count; ++i) {
      (void)evaluator.run(samples.load(i), [&](const ir::Value& value, const evaluate::Tensor& tensor) {
        if (const auto at = all.find(&value); at != all.end()) at->second.add(tensor.values());
      });
    }
  }
  std::vector<std::string> warnings;
  for (ir::Node* node : graph.snapshot()) {
    if (!keeps_h(node) || !node->has("h")) continue;
    const auto at = all.find(node->tensor("h"));
    if (at == all.end() || at->second.error <= kNegligible * at->second.signal) continue;
    const std::string where = node->location.text();
    warnings.push_back(fmt::format(
        "the initial state of the recurrent layer '{}'{} reaches from {:.3g} to {:.3g}, and its integers "
        "hold ±1, so it becomes several operators per step; where the model can be trained so, bound it (tanh)",
        node->name, where.empty() ? "" : ", " + where, at->second.low, at->second.high));
    const ops::Config config{.target = {}};
    const std::vector<ir::Value*> values = ops::find(*node)->write_out({graph, *node, config});
    for (std::size_t i = 0; i < values.size(); ++i) graph.replace_uses(node->results[i], values[i]);
    graph.erase(node);
  }
  graph.erase_unused();
  return warnings;
}

void keep_last_states(ir::Graph& graph, const std::unordered_set<const ir::Node*>& wide) { Keeper(graph).run(wide); }

}  // namespace cormorant::quantizer
