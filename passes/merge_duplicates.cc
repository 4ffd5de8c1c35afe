// SPDX-License-Identifier: Apache-2.0
//
// Nodes are pure, so two with the same operator, arguments and result types compute the same: the later one is removed.
// Equal constants are merged first, so that nodes computed from them are found to be equal too. So are readers of a
// state: within an execution its contents do not change.
#include <algorithm>
#include <functional>
#include <unordered_map>

#include "passes/passes.h"

namespace cormorant::passes {
namespace {

bool same_arguments(const ir::Node& a, const ir::Node& b) {
  return std::ranges::equal(a.args, b.args, [](const ir::NamedArgument& x, const ir::NamedArgument& y) {
    return x.name == y.name && x.value == y.value;
  });
}

bool same_types(const ir::Node& a, const ir::Node& b) {
  return std::ranges::equal(a.results, b.results,
                            [](const ir::Value* x, const ir::Value* y) { return x->type == y->type; });
}

// Equal nodes have equal keys; others with the same key are compared.
std::size_t key_of(const ir::Node& node) {
  std::size_t key = std::hash<std::string>()(node.op);
  for (const ir::Value* input : node.inputs()) key = key * 31 + std::hash<const void*>()(input);
  for (const ir::NamedArgument& argument : node.args) {
    if (const auto* number = std::get_if<std::int64_t>(&argument.value)) {
      key = key * 31 + static_cast<std::size_t>(*number);
    }
    if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&argument.value)) {
      for (const std::int64_t number : *numbers) key = key * 31 + static_cast<std::size_t>(number);
    }
  }
  return key;
}

bool owns_scratch(const ir::Node& node) {
  return std::ranges::any_of(node.inputs(), [](const ir::Value* v) { return v->kind == ir::ValueKind::scratch; });
}

}  // namespace

void merge_duplicates(ir::Graph& graph) {
  clean_up(graph);
  std::unordered_map<std::size_t, std::vector<ir::Node*>> by_key;
  for (ir::Node* node : graph.snapshot()) {
    if (owns_scratch(*node)) continue;
    std::vector<ir::Node*>& seen = by_key[key_of(*node)];
    const auto twin = std::ranges::find_if(seen, [&](const ir::Node* other) {
      return other->op == node->op && same_arguments(*other, *node) && same_types(*other, *node);
    });
    if (twin == seen.end()) {
      seen.push_back(node);
      continue;
    }
    for (std::size_t i = 0; i < node->results.size(); ++i) graph.replace_uses(node->results[i], (*twin)->results[i]);
    graph.erase(node);
  }
}

}  // namespace cormorant::passes
