// SPDX-License-Identifier: Apache-2.0
#include "quantizer/masks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "evaluate/graph.h"

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
    if (user->op == "aten.softmax") return true;
    return (user->op == "aten.view" || user->op == "aten.permute") && goes_to_softmax(graph, user->result());
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
  if (node.op != "aten.add" || (node.has("alpha") && node.number("alpha") != 1)) return {};
  for (const char* argument : {"self", "other"}) {
    if (!node.has(argument)) continue;
    const ir::Value* value = node.tensor(argument);
    if (value->kind != ir::ValueKind::constant || value->type.dtype != DType::f32) continue;
    if (std::ranges::any_of(evaluate::constant_tensor(*value).values(), is_masked)) return argument;
  }
  return {};
}

void bound_masks(ir::Graph& graph, const Samples& samples) {
  constexpr std::size_t kEnough = 64;  // samples: values of others beyond this saturate
  std::unordered_map<const ir::Value*, Range> scores;
  std::vector<ir::Node*> sums;
  const auto scores_of = [](const ir::Node& sum) {
    return sum.tensor(mask_argument(sum) == "self" ? "other" : "self");
  };
  for (ir::Node& node : graph.nodes()) {
    if (mask_argument(node).empty() || !goes_to_softmax(graph, node.result())) continue;
    sums.push_back(&node);
    scores[scores_of(node)];
  }
  if (sums.empty()) return;
  const evaluate::Evaluator evaluator(graph);
  for (std::size_t i = 0; i < std::min(samples.count, kEnough); ++i) {
    (void)evaluator.run(samples.load(i), [&](const ir::Value& value, const evaluate::Tensor& tensor) {
      if (const auto at = scores.find(&value); at != scores.end()) at->second.add(tensor.values());
    });
  }
  for (ir::Node* sum : sums) {
    const std::string argument = mask_argument(*sum);
    const ir::Value* mask = sum->tensor(argument);
    const Range score = scores.at(scores_of(*sum));
    Range kept;
    kept.add(evaluate::constant_tensor(*mask).values());
    if (score.low > score.high || kept.low > kept.high) continue;  // nothing was computed, or nothing counts
    const float lowest = score.low + kept.low - kNothing;
    sum->set(argument, with_masked(graph, *mask, lowest - score.high));
    if (!sum->has("activation_min")) sum->set("activation_min", double{lowest});
  }
  graph.erase_unused();
}

}  // namespace cormorant::quantizer
