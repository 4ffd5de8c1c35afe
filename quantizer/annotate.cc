// SPDX-License-Identifier: Apache-2.0
#include "quantizer/annotate.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/diagnostic.h"
#include "ops/nodes.h"

namespace cormorant::quantizer {
namespace {

using Rule = ops::QuantRule;

bool is_real(const ir::Value* value) { return value->type.dtype == DType::f32; }

// Why the node cannot compute with integers, regardless of its rule; empty if it can.
std::string obstacle(const ir::Node& node, const ops::Operator* op, const QuantizeOptions& options) {
  if (const LayerSettings own = settings_for(options.layers, node.location.module); own.keep_float.value_or(false)) {
    const bool in_file = !own.where.starts_with("--");
    return "kept in float as requested for layer " + own.path + (in_file ? " in " + own.where : "");
  }
  const std::vector<ir::Value*> inputs = node.inputs();
  if (std::ranges::none_of(inputs, is_real)) return "computes with integers";
  if (op == nullptr || op->quantize == nullptr) return "operator " + node.op + " has no integer form";
  return {};
}

bool has(const Rule& rule, ops::Precision precision) {
  return std::ranges::find(rule.precisions, precision) != rule.precisions.end();
}

Rule rule_of(const ir::Node& node, const QuantizeOptions& options) {
  const ops::Operator* op = ops::find(node);
  if (std::string reason = obstacle(node, op, options); !reason.empty()) return {Rule::Reject{std::move(reason)}, {}};
  Rule rule = op->quantize(node);
  if (!has(rule, ops::Precision::w8a8)) {
    return {Rule::Reject{"operator " + node.op + " has no form with 8-bit activations"}, {}};
  }
  if (std::holds_alternative<Rule::ObserveOrShare>(rule.output)) {
    if (options.executorch_operators) {
      rule.output = Rule::Share{};
    } else {
      rule.output = Rule::Observe{};
    }
  }
  const bool one_scale = std::ranges::find(options.per_tensor_weights, node.op) != options.per_tensor_weights.end();
  for (Rule::Weight& weight : rule.weights) {
    if (one_scale) weight.axis.reset();
    if (!node.has(weight.argument)) continue;
    const ir::Value* value = node.tensor(weight.argument);
    if (value->kind != ir::ValueKind::constant || !is_real(value)) {
      return {Rule::Reject{"its " + weight.argument + " is not a constant float tensor"}, {}};
    }
  }
  return rule;
}

// A running sum or a counter outgrows every range that calibration has seen: an element of a state whose new contents
// are its old ones and something added, after any number of executions. What is in between may move elements, write
// only some of them (total[:, :2] += x), or bound them from one side.
class RunningSum {
 public:
  explicit RunningSum(const ir::Update& update) : state_(update.state) {
    const Origins* all = trace(update.value, kDeepest);
    sums_ = all != nullptr && comes_round(*all);
  }

  // The nodes between the state and its new contents; empty if it is no running sum.
  [[nodiscard]] std::vector<const ir::Node*> nodes() const { return sums_ ? nodes_ : std::vector<const ir::Node*>(); }

 private:
  static constexpr int kDeepest = 64;  // nodes between a state and its new contents; a file may have any number

  // Of a value's elements: which element of the state each is, and whether something was added to it.
  struct Origin {
    std::int64_t element = -1;  // none
    bool is_added = false;
  };
  using Origins = std::vector<Origin>;

  // Null if no element is one of the state's.
  const Origins* trace(const ir::Value* value, int deeper) {
    const auto known = traced_.find(value);
    if (known != traced_.end()) return known->second ? &*known->second : nullptr;
    if (deeper == 0) return nullptr;
    std::optional<Origins> origins;
    if (value == state_) {
      origins.emplace(static_cast<std::size_t>(value->type.elements()));
      for (std::size_t i = 0; i < origins->size(); ++i) (*origins)[i].element = static_cast<std::int64_t>(i);
    } else if (value->producer != nullptr) {
      origins = of_node(*value->producer, deeper - 1);
      const bool fits = origins && origins->size() == static_cast<std::size_t>(value->type.elements());
      const auto is_of_state = [](const Origin& origin) { return origin.element >= 0; };
      if (fits && std::ranges::any_of(*origins, is_of_state)) {
        nodes_.push_back(value->producer);
      } else {
        origins.reset();
      }
    }
    const auto& kept = traced_[value] = std::move(origins);
    return kept ? &*kept : nullptr;
  }

  std::optional<Origins> of_node(const ir::Node& node, int deeper) {
    const auto copied = [&](const char* argument) {
      const Origins* from = trace(node.tensor(argument), deeper);
      return from == nullptr ? std::nullopt : std::optional(*from);
    };
    if (node.op == ops::nodes::aten_view || node.op == ops::nodes::aten_clone) return copied("self");
    if (node.op == ops::nodes::aten_clamp) {
      return node.has("min") && node.has("max") ? std::nullopt : copied("self");
    }
    if (node.op == ops::nodes::aten_add) return of_sum(node, deeper);
    if (node.op == ops::nodes::aten_cat) return of_parts(node, deeper);
    if (node.op != ops::nodes::aten_slice && node.op != ops::nodes::aten_permute) return std::nullopt;
    return of_moved(node, deeper);
  }

  std::optional<Origins> of_sum(const ir::Node& node, int deeper) {
    if (node.has("activation_min") && node.has("activation_max")) return std::nullopt;
    const Origins* self = trace(node.tensor("self"), deeper);
    const Origins* other = std::abs(node.number("alpha")) < 1 ? nullptr : trace(node.tensor("other"), deeper);
    if (self == nullptr && other == nullptr) return std::nullopt;
    const auto elements = static_cast<std::size_t>(node.result()->type.elements());
    Origins sum(elements);
    for (const Origins* operand : {other, self}) {
      if (operand == nullptr || operand->size() != elements) continue;
      for (std::size_t i = 0; i < elements; ++i) {
        if ((*operand)[i].element >= 0) sum[i] = {(*operand)[i].element, true};
      }
    }
    return sum;
  }

  std::optional<Origins> of_parts(const ir::Node& node, int deeper) {
    const ir::Shape& shape = node.result()->type.shape;
    const auto is_traced = [&](const ir::Value* part) { return trace(part, deeper) != nullptr; };
    if (std::ranges::none_of(node.tensors("tensors"), is_traced)) return std::nullopt;
    const auto [outer, inner] = around(shape, node.integer("dim"));
    const std::int64_t row = inner * shape.at(static_cast<std::size_t>(node.integer("dim")));
    Origins all(static_cast<std::size_t>(node.result()->type.elements()));
    std::int64_t first = 0;
    for (const ir::Value* part : node.tensors("tensors")) {
      if (part->type.elements() == 0) continue;
      const std::int64_t count = part->type.elements() / outer;
      if (const Origins* from = trace(part, deeper)) {
        for (std::int64_t i = 0; i < outer; ++i) {
          std::copy_n(from->begin() + i * count, count, all.begin() + i * row + first);
        }
      }
      first += count;
    }
    return all;
  }

  // A part of another tensor, or one with its dimensions in another order.
  std::optional<Origins> of_moved(const ir::Node& node, int deeper) {
    const ir::Value* self = node.tensor("self");
    const Origins* from = trace(self, deeper);
    if (from == nullptr) return std::nullopt;
    const ir::Shape &shape = self->type.shape, &result = node.result()->type.shape;
    std::vector<std::int64_t> strides(shape.size(), 1), steps(result.size());
    for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
    std::int64_t at = 0;
    if (node.op == ops::nodes::aten_slice) {
      const auto dim = static_cast<std::size_t>(node.integer("dim"));
      steps = strides;
      at = node.integer("start") * strides.at(dim);
      steps[dim] *= node.integer("step");
    } else {
      const std::vector<std::int64_t>& dims = node.integers("dims");
      for (std::size_t d = 0; d < dims.size(); ++d) steps[d] = strides.at(static_cast<std::size_t>(dims[d]));
    }
    Origins moved;
    moved.reserve(static_cast<std::size_t>(node.result()->type.elements()));
    std::vector<std::int64_t> place(result.size());
    for (std::int64_t i = 0; i < node.result()->type.elements(); ++i) {
      moved.push_back(from->at(static_cast<std::size_t>(at)));
      for (std::size_t d = result.size(); d-- > 0;) {
        at += steps[d];
        if (++place[d] < result[d]) break;
        at -= steps[d] * result[d];
        place[d] = 0;
      }
    }
    return moved;
  }

  // How many elements there are before and after a dimension.
  static std::pair<std::int64_t, std::int64_t> around(const ir::Shape& shape, std::int64_t dim) {
    std::int64_t outer = 1, inner = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (static_cast<std::int64_t>(d) < dim) outer *= shape[d];
      if (static_cast<std::int64_t>(d) > dim) inner *= shape[d];
    }
    return {outer, inner};
  }

  // Whether an element comes back to its place with something added, be it on the way of several executions.
  static bool comes_round(const Origins& all) {
    std::vector<std::size_t> seen(all.size(), 0);  // by the walk that began at this number
    for (std::size_t begin = 0; begin < all.size(); ++begin) {
      std::size_t at = begin;
      while (seen[at] == 0 && all[at].element >= 0) {
        seen[at] = begin + 1;
        at = static_cast<std::size_t>(all[at].element);
      }
      if (seen[at] != begin + 1) continue;
      const std::size_t round = at;
      do {
        if (all[at].is_added) return true;
        at = static_cast<std::size_t>(all[at].element);
      } while (at != round);
    }
    return false;
  }

  const ir::Value* state_;
  std::unordered_map<const ir::Value*, std::optional<Origins>> traced_;
  std::vector<const ir::Node*> nodes_;
  bool sums_ = false;
};

bool is_rejected(const Rule& rule) { return std::holds_alternative<Rule::Reject>(rule.output); }
bool is_sharing(const Rule& rule) { return std::holds_alternative<Rule::Share>(rule.output); }

bool names(const std::vector<std::string>& list, const std::string& name) {
  return std::ranges::find(list, name) != list.end();
}

// Real numbers in, integers out: an index, or the truth about a comparison.
bool is_answer(const ir::Node& node) { return std::ranges::none_of(node.results, is_real); }

std::vector<ir::Value*> activations(const ir::Node& node, const Rule& rule) {
  std::vector<ir::Value*> result;
  for (const ir::NamedArgument& argument : node.args) {
    const bool is_weight =
        std::ranges::any_of(rule.weights, [&](const Rule::Weight& weight) { return weight.argument == argument.name; });
    if (is_weight || names(rule.kept_real, argument.name)) continue;
    if (const auto* single = std::get_if<ir::Value*>(&argument.value)) {
      if (*single != nullptr && is_real(*single)) result.push_back(*single);
    } else if (const auto* list = std::get_if<std::vector<ir::Value*>>(&argument.value)) {
      std::ranges::copy_if(*list, std::back_inserter(result), is_real);
    }
  }
  return result;
}

using Rules = std::unordered_map<const ir::Node*, Rule>;

std::int64_t macs_of(const ir::Node& node) {
  const ops::Operator* op = ops::find(node);
  return op == nullptr || op->macs == nullptr ? 0 : op->macs(node);
}

// Whether its weights are what a layer's accuracy and size depend on. A PReLU's slopes are not.
bool has_layer_weights(const ir::Node& node, const Rule& rule) { return !rule.weights.empty() && macs_of(node) > 0; }

// ---- precision ------------------------------------------------------------------------------------------------------

struct Choice {
  ops::Precision precision = ops::Precision::w8a8;
  std::string instead = {};
};
using Choices = std::unordered_map<const ir::Node*, Choice>;

// Layers with weights that have no other such layer before them, or none after them: 4-bit weights would cost the most
// there.
class Ends {
 public:
  Ends(const ir::Graph& graph, const Rules& rules) {
    std::unordered_set<const ir::Value*> after, before;
    for (const ir::Node& node : graph.nodes()) {
      const bool weighs = has_layer_weights(node, rules.at(&node));
      const bool follows = std::ranges::any_of(node.inputs(), [&](const ir::Value* v) { return after.contains(v); });
      if (weighs && !follows) ends_.insert(&node);
      if (weighs || follows) after.insert(node.results.begin(), node.results.end());
    }
    for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
      const bool weighs = has_layer_weights(*node, rules.at(&*node));
      const bool leads = std::ranges::any_of(node->results, [&](const ir::Value* v) { return before.contains(v); });
      if (weighs && !leads) ends_.insert(&*node);
      if (!weighs && !leads) continue;
      for (const ir::Value* input : node->inputs()) before.insert(input);
    }
  }
  [[nodiscard]] bool contains(const ir::Node& node) const { return ends_.contains(&node); }

 private:
  std::unordered_set<const ir::Node*> ends_;
};

bool is_depthwise(const ir::Node& node) {
  const ops::Operator* op = ops::find(node);
  return op != nullptr && op->name == "depthwise_conv2d";
}

[[noreturn]] void contradict(const ir::Node& node, const LayerSettings& own, const Rule& rule) {
  std::string possible = "float";
  for (const ops::Precision precision : rule.precisions) possible += ", " + std::string(ops::name_of(precision));
  throw InputError({.problem = "layer " + own.path + " is to be " + std::string(ops::name_of(*own.precision)) +
                               ", which operator " + node.op + " does not have",
                    .advice = "it can be " + possible,
                    .file = own.where.starts_with("--") ? std::string() : own.where,
                    .node = node.name,
                    .source = node.location.text()});
}

// A classifier's last nodes: what its log_softmax returns varies little from sample to sample compared with its
// distance from 0, which an 8-bit range must span as well.
void widen_ends(const ir::Graph& graph, const Rules& rules, const QuantizeOptions& options, Choices& choices) {
  const std::unordered_set<const ir::Node*> ends = wide_ends(graph, options);
  for (auto& [node, choice] : choices) {
    if (!ends.contains(node) || !has(rules.at(node), ops::Precision::w8a16)) continue;
    if (choice.precision == ops::Precision::w8a16) continue;
    choice = {ops::Precision::w8a16, "a log_softmax that the model returns needs more than 8 bits"};
  }
}

// The precision of each quantized node: the requested one, or the nearest that its operator supports.
Choices choose_precisions(const ir::Graph& graph, const Rules& rules, const QuantizeOptions& options) {
  const Ends ends(graph, rules);
  Choices choices;
  for (const ir::Node& node : graph.nodes()) {
    const Rule& rule = rules.at(&node);
    if (is_rejected(rule)) continue;
    const LayerSettings own = settings_for(options.layers, node.location.module);
    const auto chosen = options.precisions.find(node.name);
    const bool is_asked = own.precision.has_value() || chosen != options.precisions.end();
    const ops::Precision wanted =
        own.precision.value_or(chosen != options.precisions.end() ? chosen->second : options.scheme);
    Choice& choice = choices[&node];
    if (wanted == ops::Precision::w8a8) continue;
    const std::string name(ops::name_of(wanted));
    if (wanted == ops::Precision::w4a8 && !has_layer_weights(node, rule)) {
      choice.instead = kNoWeights;
    } else if (wanted == ops::Precision::w4a8 && !is_asked && is_depthwise(node)) {
      choice.instead = "depthwise layers keep 8 bits";
    } else if (!has(rule, wanted)) {
      // A module may contain more than the intended layer: only nodes with weights were certainly meant.
      if (own.precision && has_layer_weights(node, rule)) contradict(node, own, rule);
      choice.instead = "operator " + node.op + " has no " + name;
    } else if (wanted == ops::Precision::w4a8 && !is_asked && ends.contains(node)) {
      choice.instead = "first and last layers keep 8 bits unless --layer-settings says otherwise";
    } else {
      choice.precision = wanted;
    }
  }
  widen_ends(graph, rules, options, choices);
  return choices;
}

// Which tensors have 16 bits: results of nodes that compute with them, what is only moved from them, and what such a
// node reads from outside.
std::unordered_set<const ir::Value*> wide_values(const ir::Graph& graph, const Rules& rules, Choices& choices) {
  std::unordered_set<const ir::Value*> wide;
  const auto is_source = [&](const ir::Value* value) {
    return value->producer == nullptr || is_rejected(rules.at(value->producer));
  };
  for (const ir::Node& node : graph.nodes()) {
    const auto at = choices.find(&node);
    if (at == choices.end()) continue;
    const Rule& rule = rules.at(&node);
    const std::vector<ir::Value*> inputs = activations(node, rule);
    bool is_wide = at->second.precision == ops::Precision::w8a16;
    if (is_sharing(rule) && !std::ranges::all_of(inputs, is_source)) {
      // The computing node decides, whatever moves its result.
      is_wide = has(rule, ops::Precision::w8a16) &&
                std::ranges::any_of(inputs, [&](const ir::Value* v) { return !is_source(v) && wide.contains(v); });
    }
    if (is_sharing(rule)) at->second.precision = is_wide ? ops::Precision::w8a16 : ops::Precision::w8a8;
    if (!is_wide) continue;
    std::ranges::copy_if(inputs, std::inserter(wide, wide.end()), is_source);
    std::ranges::copy_if(node.results, std::inserter(wide, wide.end()), is_real);
  }
  return wide;
}

// Data movement between float nodes moves floats, and what they compute is compared as it is: integers there would cost
// conversions and precision for nothing. Chains are found by assuming all of it to be in float and reverting what
// touches integers.
void keep_islands_in_float(const ir::Graph& graph, Rules& rules) {
  std::unordered_set<const ir::Node*> in_float, candidates;
  for (const auto& [node, rule] : rules) {
    if (is_rejected(rule)) in_float.insert(node);
    if (is_sharing(rule) || (is_answer(*node) && !is_rejected(rule))) candidates.insert(node);
  }
  in_float.insert(candidates.begin(), candidates.end());
  const auto is_float_source = [&](const ir::Value* value) {
    return value->producer != nullptr && in_float.contains(value->producer);
  };
  const auto feeds_only_float = [&](const ir::Value* value) {
    return !graph.is_update(value) &&
           std::ranges::all_of(graph.users(value), [&](const ir::Node* user) { return in_float.contains(user); });
  };
  const auto touches_integers = [&](const ir::Node* node) {
    return !std::ranges::all_of(activations(*node, rules.at(node)), is_float_source) ||
           (!is_answer(*node) && !std::ranges::all_of(node->results, feeds_only_float));
  };
  bool changed = true;
  while (changed) {
    changed = std::erase_if(candidates, [&](const ir::Node* node) {
                return touches_integers(node) && in_float.erase(node) == 1;
              }) > 0;
  }
  for (const ir::Node* node : candidates) {
    rules.at(node) = {
        Rule::Reject{is_answer(*node) ? "compares what float operators compute" : "moves data between float operators"},
        {}};
  }
}

// Union-find over tensors. A set whose range is known by definition (after softmax) stays separate from sets whose
// range is measured: the former cannot change, and the latter would be clipped by it. A conversion bridges the two
// instead.
class Sharing {
 public:
  explicit Sharing(const std::unordered_set<const ir::Value*>& wide) : wide_(wide) {}
  void add(const ir::Value* value, std::optional<Rule::Fixed> fixed = {}) {
    if (index_.contains(value)) return;
    index_[value] = values_.size();
    parent_.push_back(values_.size());
    fixed_.push_back(fixed);
    values_.push_back(value);
    open_.push_back(false);
  }
  // A tensor with a range of its own, unlike one that only passes on its input.
  void mark_measured(const ir::Value* value) { open_[root(index_.at(value))] = true; }

  [[nodiscard]] bool contains(const ir::Value* value) const { return index_.contains(value); }
  [[nodiscard]] bool has_words(const ir::Value* value) {
    const std::optional<Rule::Fixed>& fixed = fixed_[root(index_.at(value))];
    return (fixed && fixed->dtype == DType::i16) || wide_.contains(value);
  }

  void unite(const ir::Value* a, const ir::Value* b) {
    const std::size_t x = root(index_.at(a)), y = root(index_.at(b));
    if (x == y || conflict(x, y) || conflict(y, x) || differs_in_width(x, y, a, b)) return;
    const std::size_t first = std::min(x, y), second = std::max(x, y);
    parent_[second] = first;
    if (!fixed_[first]) fixed_[first] = fixed_[second];
    open_[first] = open_[first] || open_[second];
  }

  void write(Annotation& annotation) {
    std::map<std::size_t, std::size_t> group_of_root;
    for (std::size_t k = 0; k < values_.size(); ++k) {
      const auto [at, is_new] = group_of_root.try_emplace(root(k), annotation.groups.size());
      if (is_new) annotation.groups.push_back({{}, fixed_[root(k)], has_words(values_[k])});
      annotation.groups[at->second].members.push_back(values_[k]);
      annotation.group_of[values_[k]] = at->second;
    }
  }

 private:
  // Where 16 bits are known by definition, the other set gets them, too.
  [[nodiscard]] bool differs_in_width(std::size_t x, std::size_t y, const ir::Value* a, const ir::Value* b) const {
    const auto is_known = [&](std::size_t k) { return fixed_[k] && fixed_[k]->dtype == DType::i16; };
    return !is_known(x) && !is_known(y) && wide_.contains(a) != wide_.contains(b);
  }
  [[nodiscard]] bool conflict(std::size_t known, std::size_t other) const {
    const std::optional<Rule::Fixed>&a = fixed_[known], &b = fixed_[other];
    if (!a) return false;
    if (!b) return open_[other];
    return *a != *b;
  }
  std::size_t root(std::size_t k) {
    while (parent_[k] != k) k = parent_[k] = parent_[parent_[k]];
    return k;
  }

  const std::unordered_set<const ir::Value*>& wide_;
  std::unordered_map<const ir::Value*, std::size_t> index_;
  std::vector<const ir::Value*> values_;
  std::vector<std::size_t> parent_;
  std::vector<std::optional<Rule::Fixed>> fixed_;
  std::vector<bool> open_;
};

// ---- tensors of 16 bits -----------------------------------------------------------------------------------------

bool moves_words(const Rule& rule) { return is_sharing(rule) && has(rule, ops::Precision::w8a16); }

// What an LSTM keeps has a range for any network, wider than that of its results. With 16-bit activations, where its
// step would be the coarsest of all, half of the range may be given up.
Rule::Fixed words_of(const Rule& rule) {
  const auto* result = std::get_if<Rule::Fixed>(&rule.output);
  const bool is_wide = result != nullptr && result->dtype == DType::i16 && rule.words->scale > result->scale;
  return {rule.words->scale, 0, DType::i16, is_wide ? 1 : 0};
}

// Tensors that have 16 bits because a node reads them so: its arguments, and tensors that were only moved to become
// one.
std::unordered_map<const ir::Value*, Rule::Fixed> values_of_words(const ir::Graph& graph, const Rules& rules) {
  std::unordered_map<const ir::Value*, Rule::Fixed> all;
  for (const ir::Node& node : graph.nodes()) {
    const Rule& rule = rules.at(&node);
    if (is_rejected(rule) || !rule.words) continue;
    const auto mark = [&](const std::string& argument, const Rule::Fixed& as) {
      std::vector<const ir::Value*> open;
      if (node.has(argument)) open.push_back(node.tensor(argument));
      while (!open.empty()) {
        const ir::Value* value = open.back();
        open.pop_back();
        if (!is_real(value) || !all.emplace(value, as).second || value->producer == nullptr) continue;
        if (!moves_words(rules.at(value->producer))) continue;
        for (const ir::Value* input : value->producer->inputs()) open.push_back(input);
      }
    };
    for (const std::string& argument : rule.words->arguments) mark(argument, words_of(rule));
    const auto* fixed = std::get_if<Rule::Fixed>(&rule.output);
    if (fixed == nullptr || fixed->dtype != DType::i16) continue;
    for (const std::string& argument : rule.as_result) mark(argument, *fixed);
  }
  return all;
}

// Adds groups for tensors whose readers need them in other integers than they have.
void add_conversions(const ir::Graph& graph, Annotation& annotation) {
  std::map<std::tuple<const ir::Value*, double, bool>, std::size_t> made;
  const auto need = [&](const ir::Node& node, const std::string& argument, const ir::Value* value,
                        std::optional<Rule::Fixed> fixed, bool wide) {
    const auto [at, is_new] = made.try_emplace({value, fixed ? fixed->scale : 0.0, wide}, annotation.groups.size());
    if (is_new) annotation.groups.push_back({{value}, fixed, wide});
    annotation.converted[{&node, argument, value}] = at->second;
  };
  for (const ir::Node& node : graph.nodes()) {
    const auto quantized = annotation.quantized.find(&node);
    if (quantized == annotation.quantized.end() || is_sharing(quantized->second.rule)) continue;
    const auto& [rule, operands, precision, instead] = quantized->second;
    const bool wide = precision == ops::Precision::w8a16;
    const bool takes_either = is_answer(node) && has(rule, ops::Precision::w8a16);
    for (const ir::NamedArgument& argument : node.args) {
      const auto* single = std::get_if<ir::Value*>(&argument.value);
      if (single == nullptr || std::ranges::find(operands, *single) == operands.end()) continue;
      const Group held = annotation.groups[annotation.group_of.at(*single)];  // a copy: groups are added
      if (rule.words && names(rule.words->arguments, argument.name)) {
        if (held.fixed != words_of(rule)) need(node, argument.name, *single, words_of(rule), true);
      } else if (held.is_wide != wide && !takes_either && !names(rule.as_result, argument.name)) {
        need(node, argument.name, *single, std::nullopt, wide);
      }
    }
  }
}

// Steps of an unrolled recurrence: consecutive layers with the same weights. Their tensors share parameters step by
// step, so that the steps have the same constants, which a program then holds once. Parallel layers with the same
// weights (the heads of a detector, at several sizes) keep their own ranges.
class Recurrences {
 public:
  Recurrences(const ir::Graph& graph, const Annotation& annotation, Sharing& sharing)
      : graph_(graph), annotation_(annotation), sharing_(sharing) {}

  void tie() {
    std::map<std::pair<std::string, const ir::Value*>, std::vector<const ir::Node*>> layers;
    for (const ir::Node& node : graph_.nodes()) {
      const auto quantized = annotation_.quantized.find(&node);
      if (quantized == annotation_.quantized.end() || quantized->second.rule.weights.empty()) continue;
      const std::string& weight = quantized->second.rule.weights.front().argument;
      if (node.has(weight)) layers[{node.op, node.tensor(weight)}].push_back(&node);
    }
    for (const auto& [key, steps] : layers) {
      for (std::size_t i = 1; i < steps.size(); ++i) {
        if (depends(steps[i], steps[i - 1])) tie(steps[i - 1], steps[i]);
      }
    }
  }

 private:
  static bool depends(const ir::Node* later, const ir::Node* earlier) {
    std::vector<const ir::Node*> open = {later};
    std::unordered_set<const ir::Node*> seen;
    while (!open.empty()) {
      const ir::Node* node = open.back();
      open.pop_back();
      if (node == earlier) return true;
      for (const ir::Value* input : node->inputs()) {
        if (input->producer != nullptr && seen.insert(input->producer).second) open.push_back(input->producer);
      }
    }
    return false;
  }

  // Two nodes that do the same in two steps, and what follows them as long as it does the same, too.
  void tie(const ir::Node* first, const ir::Node* second) {
    std::vector<std::pair<const ir::Node*, const ir::Node*>> open = {{first, second}};
    while (!open.empty()) {
      const auto [a, b] = open.back();
      open.pop_back();
      if (a == b || a->op != b->op || !tied_.insert({a, b}).second) continue;
      const auto in_a = annotation_.quantized.find(a), in_b = annotation_.quantized.find(b);
      if (in_a == annotation_.quantized.end() || in_b == annotation_.quantized.end()) continue;
      const auto &inputs_a = in_a->second.activations, &inputs_b = in_b->second.activations;
      if (inputs_a.size() != inputs_b.size() || a->results.size() != b->results.size()) continue;
      for (std::size_t i = 0; i < inputs_a.size(); ++i) unite(inputs_a[i], inputs_b[i]);
      for (std::size_t i = 0; i < a->results.size(); ++i) {
        unite(a->results[i], b->results[i]);
        const auto users_a = graph_.users(a->results[i]), users_b = graph_.users(b->results[i]);
        if (users_a.size() != users_b.size()) continue;
        for (std::size_t k = 0; k < users_a.size(); ++k) open.emplace_back(users_a[k], users_b[k]);
      }
    }
  }

  void unite(const ir::Value* a, const ir::Value* b) {
    if (sharing_.contains(a) && sharing_.contains(b)) sharing_.unite(a, b);
  }

  const ir::Graph& graph_;
  const Annotation& annotation_;
  Sharing& sharing_;
  std::set<std::pair<const ir::Node*, const ir::Node*>> tied_;
};

// What a value was before data was moved.
const ir::Node* computed_by(const ir::Value* value) {
  while (value->producer != nullptr &&
         (value->producer->op == ops::nodes::aten_view || value->producer->op == ops::nodes::aten_slice)) {
    value = value->producer->tensor("self");
  }
  return value->producer;
}

}  // namespace

std::unordered_set<const ir::Node*> wide_ends(const ir::Graph& graph, const QuantizeOptions& options) {
  constexpr double kLittle = 1.0 / 16;  // of the network's products
  std::unordered_set<const ir::Node*> ends;
  if (options.int8_io || options.executorch_operators) return ends;
  const auto may_change = [&](const ir::Node& node) {
    const LayerSettings own = settings_for(options.layers, node.location.module);
    return !own.precision && !own.keep_float.value_or(false) && !options.precisions.contains(node.name);
  };
  double all = 0;
  for (const ir::Node& node : graph.nodes()) all += static_cast<double>(macs_of(node));
  for (const ir::Value* output : graph.outputs()) {
    const ir::Node* last = output->producer;
    if (last == nullptr || last->op != ops::nodes::aten_log_softmax || !may_change(*last)) continue;
    ends.insert(last);
    const ir::Node* layer = computed_by(last->tensor("self"));
    if (layer == nullptr || layer->op != ops::nodes::aten_linear || !may_change(*layer)) continue;
    const bool is_read_once = graph.users(layer->result()).size() == 1 && !graph.is_kept(layer->result());
    if (is_read_once && static_cast<double>(macs_of(*layer)) <= kLittle * all) ends.insert(layer);
  }
  return ends;
}

Annotation annotate(const ir::Graph& graph, const QuantizeOptions& options) {
  Rules rules;
  for (const ir::Node& node : graph.nodes()) rules[&node] = rule_of(node, options);
  Annotation annotation;
  for (const ir::Update& update : graph.updates()) {
    const std::vector<const ir::Node*> sum = RunningSum(update).nodes();
    if (!sum.empty()) annotation.float_states.insert(update.state);
    for (const ir::Node* node : sum) {
      rules.at(node) = {
          Rule::Reject{"the buffer '" + update.state->name + "' is a running sum, which outgrows any range"}, {}};
    }
  }
  keep_islands_in_float(graph, rules);

  Choices choices = choose_precisions(graph, rules, options);
  for (auto& [node, choice] : choices) {
    Rule& rule = rules.at(node);
    if (choice.precision == ops::Precision::w8a16 && rule.fixed_words) rule.output = *rule.fixed_words;
  }
  const std::unordered_set<const ir::Value*> wide = wide_values(graph, rules, choices);
  Sharing sharing(wide);
  const auto words = values_of_words(graph, rules);
  const auto add_measured = [&](const ir::Value* value) {
    if (const auto known = words.find(value); known != words.end()) return sharing.add(value, known->second);
    sharing.add(value);
    sharing.mark_measured(value);
  };
  if (options.int8_io) {
    for (const ir::Value* input : graph.inputs()) {
      if (is_real(input)) add_measured(input);
    }
  }
  for (const ir::Node& node : graph.nodes()) {
    const Rule& rule = rules.at(&node);
    if (const auto* reject = std::get_if<Rule::Reject>(&rule.output)) {
      // What has nothing to do with real numbers is not in float: indices, masks and the like stay as they are.
      if (!is_answer(node) || std::ranges::any_of(node.inputs(), is_real)) {
        annotation.float_nodes.push_back({node.name, node.op, node.location.text(), reject->reason});
      }
      continue;
    }
    const std::vector<ir::Value*> inputs = activations(node, rule);
    const Choice& choice = choices.at(&node);
    annotation.quantized[&node] = {rule, inputs, choice.precision, choice.instead};
    for (const ir::Value* input : inputs) {
      // Inputs, constants and results of float nodes; results of quantized nodes are there already.
      const bool is_new = input->producer == nullptr || is_rejected(rules.at(input->producer));
      if (is_new) add_measured(input);
    }
    for (const ir::Value* result : node.results) {
      if (!is_real(result)) continue;
      const auto* fixed = std::get_if<Rule::Fixed>(&rule.output);
      const bool has_words = rule.words && result != node.result();
      sharing.add(result, has_words          ? std::optional(words_of(rule))
                          : fixed != nullptr ? std::optional(*fixed)
                                             : std::nullopt);
      if (std::holds_alternative<Rule::Observe>(rule.output) && !has_words) sharing.mark_measured(result);
      if (!is_sharing(rule)) continue;
      for (const ir::Value* input : inputs) {
        // A value that is only computed with 8 bits has its own range after one with 16.
        if (sharing.has_words(input) && !moves_words(rule)) {
          sharing.mark_measured(result);
        } else {
          sharing.unite(result, input);
        }
      }
    }
    for (const std::string& argument : rule.as_result) {
      if (node.has(argument)) sharing.unite(node.result(), node.tensor(argument));
    }
  }
  // A state and its new contents share one set of parameters; where they cannot (a range that is known by definition),
  // a conversion bridges the two.
  for (const auto& [state, value] : graph.updates()) {
    if (annotation.float_states.contains(state) || !is_real(state)) continue;
    if (sharing.contains(value) && !sharing.contains(state)) add_measured(state);
    if (sharing.contains(value)) sharing.unite(state, value);
  }
  if (options.int8_io) {
    for (const ir::Value* output : graph.outputs()) {
      const bool is_float_result = output->producer != nullptr && is_rejected(rules.at(output->producer));
      if (is_real(output) && is_float_result) add_measured(output);
    }
  }
  Recurrences(graph, annotation, sharing).tie();
  sharing.write(annotation);
  add_conversions(graph, annotation);
  return annotation;
}

std::size_t Annotation::group_for(const ir::Node& node, const std::string& argument, const ir::Value* value) const {
  if (const auto other = converted.find({&node, argument, value}); other != converted.end()) return other->second;
  const Rule& rule = quantized.at(&node).rule;
  // A node that shares parameters takes all its operands in those of its result; others take them as they are.
  const bool as_result = is_sharing(rule) || names(rule.as_result, argument);
  const auto result = group_of.find(node.result());
  return as_result && result != group_of.end() ? result->second : group_of.at(value);
}

FactorScales Annotation::factors_of(const ir::Node& node, const std::vector<ir::QuantParams>& params) const {
  const auto& [rule, operands, precision, instead] = quantized.at(&node);
  FactorScales factors;
  for (const ir::NamedArgument& argument : node.args) {
    const auto* single = std::get_if<ir::Value*>(&argument.value);
    if (operands.empty() || single == nullptr || *single != operands[0]) continue;
    factors.input = params[group_for(node, argument.name, *single)].scale();
    break;
  }
  if (const auto result = group_of.find(node.result()); result != group_of.end()) {
    factors.result = params[result->second].scale();
  }
  return factors;
}

}  // namespace cormorant::quantizer
