// SPDX-License-Identifier: Apache-2.0
#include "quantizer/masks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>

#include "evaluate/graph.h"
#include "ops/nodes.h"

namespace cormorant::quantizer {
namespace {

constexpr float kLeastNumber = -1e4F;  // below it, a mask is meant, not the number
constexpr float kNothing = 12;         // e^−12 of a hundred scores is less than a level of softmax's result

struct Range {
  float low = std::numeric_limits<float>::infinity();
  float high = -std::numeric_limits<float>::infinity();
  void add(std::span<const float> values) {
    for (const float value : values) {
      if (!std::isfinite(value) || is_masked(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
};

// There are views and permutations in between if the scores were computed in another shape.
bool goes_to_softmax(const ir::Graph& graph, const ir::Value* value) {
  const std::vector<const ir::Node*> users = graph.users(value);
  return !users.empty() && !graph.is_output(value) && std::ranges::all_of(users, [&](const ir::Node* user) {
    if (user->op == ops::nodes::aten_softmax) return true;
    return (user->op == ops::nodes::aten_view || user->op == ops::nodes::aten_permute) &&
           goes_to_softmax(graph, user->result());
  });
}

}  // namespace

bool is_masked(float value) { return value < kLeastNumber; }

ir::Value* with_masked(ir::Graph& graph, const ir::Value& mask, float value) {
  const evaluate::Tensor source = evaluate::constant_tensor(mask);
  std::vector<float> values(source.values().begin(), source.values().end());
  std::ranges::replace_if(values, is_masked, value);
  return graph.add_constant(mask.name + "_bounded", ir::float_type(mask.type.shape),
                            ir::Bytes::of(std::span<const float>(values)));
}

std::string mask_argument(const ir::Node& node) {
  if (node.op != ops::nodes::aten_add || (node.has("alpha") && node.number("alpha") != 1)) return {};
  for (const char* argument : {"self", "other"}) {
    if (!node.has(argument)) continue;
    const ir::Value* value = node.tensor(argument);
    if (value->kind != ir::ValueKind::constant || value->type.dtype != DType::f32) continue;
    if (std::ranges::any_of(evaluate::constant_tensor(*value).values(), is_masked)) return argument;
  }
  return {};
}

namespace {

bool is_mask(const ir::Value* value) {
  return value->kind == ir::ValueKind::constant && value->type.dtype == DType::f32 &&
         std::ranges::any_of(evaluate::constant_tensor(*value).values(), is_masked);
}

// Where a mask's placeholder numbers get among scores on their way to a softmax: in a mask that is added, in one that a
// condition chooses from, or next to the scores that a condition chooses.
struct Masking {
  ir::Node* sum = nullptr;     // of scores and mask; null: the condition chooses from the scores themselves
  ir::Node* holder = nullptr;  // the node that has the mask as an argument
  std::string argument;
  const ir::Value* scores = nullptr;
};

// The argument of a choice that is a mask; empty if none is.
std::string chosen_mask(const ir::Node* node) {
  if (node == nullptr || node->op != ops::nodes::aten_where_self_out) return {};
  for (const char* argument : {"self", "other"}) {
    if (is_mask(node->tensor(argument))) return argument;
  }
  return {};
}
const char* other_of(const std::string& argument) { return argument == "self" ? "other" : "self"; }

// From one sentence's mask to one of each head.
bool moves(const ir::Node& node) {
  return node.op == ops::nodes::aten_view || node.op == ops::nodes::aten_permute || node.op == ops::nodes::aten_expand;
}

std::optional<Masking> masking_of(const ir::Graph& graph, ir::Node& node) {
  if (!goes_to_softmax(graph, node.result())) return std::nullopt;
  if (const std::string argument = mask_argument(node); !argument.empty()) {
    return Masking{&node, &node, argument, node.tensor(other_of(argument))};
  }
  if (const std::string argument = chosen_mask(&node); !argument.empty()) {
    return Masking{nullptr, &node, argument, node.tensor(other_of(argument))};
  }
  if (node.op != ops::nodes::aten_add || (node.has("alpha") && node.number("alpha") != 1)) return std::nullopt;
  for (const char* addend : {"self", "other"}) {
    if (!node.has(addend)) continue;
    ir::Node* choice = node.tensor(addend)->producer;
    while (choice != nullptr && moves(*choice)) choice = choice->tensor("self")->producer;
    const std::string argument = chosen_mask(choice);
    if (argument.empty() || choice->tensor(other_of(argument))->kind != ir::ValueKind::constant) continue;
    return Masking{&node, choice, argument, node.tensor(other_of(addend))};
  }
  return std::nullopt;
}

// How many nodes compute with the value, as it is or moved.
std::size_t count_readers(const ir::Graph& graph, const ir::Value* value) {
  std::size_t count = 0;
  for (std::vector<const ir::Value*> open = {value}; !open.empty();) {
    const ir::Value* next = open.back();
    open.pop_back();
    count += graph.is_kept(next) ? 1 : 0;
    for (const ir::Node* user : graph.users(next)) {
      if (moves(*user)) {
        open.push_back(user->result());
      } else {
        ++count;
      }
    }
  }
  return count;
}

}  // namespace

void bound_masks(ir::Graph& graph, const Samples& samples) {
  constexpr std::size_t kEnough = 64;  // samples: values of further ones may saturate
  std::unordered_map<const ir::Value*, Range> scores;
  std::vector<Masking> all;
  for (ir::Node& node : graph.nodes()) {
    const std::optional<Masking> masking = masking_of(graph, node);
    if (!masking) continue;
    all.push_back(*masking);
    scores[masking->scores];
  }
  // A mask for the scores of several layers: all of them, or something else would see a number instead of infinity.
  std::unordered_map<const ir::Node*, std::size_t> sums;
  for (const Masking& masking : all) ++sums[masking.holder];
  std::erase_if(all, [&](const Masking& masking) {
    return masking.sum != nullptr && masking.sum != masking.holder &&
           count_readers(graph, masking.holder->result()) != sums.at(masking.holder);
  });
  if (all.empty()) return;
  const evaluate::Evaluator evaluator(graph);
  for (std::size_t i = 0; i < std::min(samples.count, kEnough); ++i) {
    (void)evaluator.run(samples.load(i), [&](const ir::Value& value, const evaluate::Tensor& tensor) {
      if (const auto at = scores.find(&value); at != scores.end()) at->second.add(tensor.values());
    });
  }
  std::unordered_map<const ir::Node*, const ir::Value*> masks;  // as they were
  std::unordered_map<const ir::Node*, float> values;            // what stands for infinity in them now
  for (const Masking& masking : all) {
    const ir::Value* mask = masking.holder->tensor(masking.argument);
    if (const auto before = masks.find(masking.holder); before != masks.end()) mask = before->second;
    const Range score = scores.at(masking.scores);
    if (score.low > score.high) continue;  // nothing was computed
    if (masking.sum == nullptr) {
      masking.holder->set(masking.argument, with_masked(graph, *mask, score.low - kNothing));
      continue;
    }
    Range kept;
    kept.add(evaluate::constant_tensor(*mask).values());
    if (masking.holder != masking.sum) {
      kept.add(evaluate::constant_tensor(*masking.holder->tensor(other_of(masking.argument))).values());
    }
    if (kept.low > kept.high) continue;  // nothing counts
    const float lowest = score.low + kept.low - kNothing;
    const float value = lowest - score.high;
    float& least = values.emplace(masking.holder, value).first->second;
    least = std::min(least, value);
    mask = masks.emplace(masking.holder, mask).first->second;
    masking.holder->set(masking.argument, with_masked(graph, *mask, least));
    if (!masking.sum->has("activation_min")) masking.sum->set("activation_min", double{lowest});
  }
  graph.erase_unused();
}

}  // namespace cormorant::quantizer
