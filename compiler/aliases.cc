// SPDX-License-Identifier: Apache-2.0
#include "compiler/aliases.h"

#include <algorithm>

#include "ops/nodes.h"

namespace cormorant::compiler {
namespace {

constexpr std::string_view kPrefix = "torch.ops.";

bool makes_a_view(std::string_view target) {
  constexpr std::string_view kNames[] = {
      "aten.alias",     "aten.chunk",     "aten.detach", "aten.diagonal",         "aten.expand",
      "aten.flatten",   "aten.movedim",   "aten.narrow", "aten.permute",          "aten.reshape",
      "aten.select",    "aten.slice",     "aten.split",  "aten.split_with_sizes", "aten.squeeze",
      "aten.t",         "aten.transpose", "aten.unbind", "aten.unflatten",        "aten.unfold",
      "aten.unsqueeze", "aten.view"};
  if (target.starts_with(kPrefix)) target.remove_prefix(kPrefix.size());
  return std::ranges::find(kNames, target.substr(0, target.rfind('.'))) != std::end(kNames);
}

}  // namespace

bool works_in_place(std::string_view target) {
  const std::string_view name = target.substr(0, target.rfind('.'));
  if (!name.ends_with('_')) return false;
  return !name.ends_with("__") || name.substr(name.rfind('.') + 1).starts_with("__i");
}

Aliases::Aliases(const pt2::Graph& graph) {
  for (const pt2::Node& node : graph.nodes) {
    if (node.arguments.empty()) continue;
    const auto* first = node.arguments.front().argument.get_if<pt2::TensorRef>();
    if (first == nullptr) continue;
    const bool in_place = works_in_place(node.target);
    if (!in_place && !makes_a_view(node.target)) continue;
    for (const std::string& name : pt2::output_names(node)) views_[name] = {first->name, in_place ? nullptr : &node};
    if (in_place) changed_.insert(base(first->name));
  }
}

const Aliases::View* Aliases::view(const std::string& name) const {
  const auto found = views_.find(name);
  return found == views_.end() ? nullptr : &found->second;
}

const std::string& Aliases::base(const std::string& name) const {
  const std::string* at = &name;
  while (const View* shown = view(*at)) at = &shown->of;
  return *at;
}

}  // namespace cormorant::compiler
