// SPDX-License-Identifier: Apache-2.0
#include "ops/host/state_places.h"

#include <algorithm>

#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

bool is_update(const ir::Node& node) {
  const Operator* op = find(node);
  return op != nullptr && op->name == "update";
}

// Whether the node, which reads the value once, may write over it.
bool works_in_place(const ir::Node& node, const ir::Value* value) {
  const Operator* op = find(node);
  if (op == nullptr || op->in_place == nullptr) return false;
  return std::ranges::any_of(node.args, [&](const ir::NamedArgument& argument) {
    const auto* given = std::get_if<ir::Value*>(&argument.value);
    return given != nullptr && *given != nullptr && root(*given) == value && op->in_place(node, argument.name);
  });
}

}  // namespace

StatePlaces::StatePlaces(const ir::Graph& graph) : graph_(graph) {
  if (graph.updates().empty()) return;
  for (const ir::Node& node : graph.nodes()) {
    position_[&node] = position_.size();
    if (is_alias(node)) continue;
    for (const ir::Value* input : node.inputs()) {
      std::vector<Reader>& all = readers_[root(input)];
      if (all.empty() || all.back().node != &node) all.push_back({&node, 0});
      ++all.back().count;
    }
  }
  for (const ir::Value* output : graph.outputs()) kept_.insert(root(output));
  for (const ir::Update& update : graph.updates()) kept_.insert(root(update.value));
}

const std::vector<StatePlaces::Reader>& StatePlaces::readers(const ir::Value* root) const {
  static const std::vector<Reader> none;
  const auto found = readers_.find(root);
  return found == readers_.end() ? none : found->second;
}

// Whether all readers of the old contents have run when the node writes the new ones.
bool StatePlaces::is_read_before(const ir::Value* root, const ir::Node* writer) const {
  return std::ranges::all_of(readers(root), [&](const Reader& reader) {
    if (reader.node == writer) return reader.count == 1 && works_in_place(*writer, root);
    return position_.at(reader.node) < position_.at(writer);
  });
}

// The value of which the node replaces a part, if it can be in the same memory; else null.
const ir::Value* StatePlaces::replaced_by(const ir::Node& node, const ir::Value* state) const {
  if (!is_update(node)) return nullptr;
  const ir::Value* before = root(node.tensor("self"));
  const bool is_made = before->kind == ir::ValueKind::result && before->producer->results.size() == 1 &&
                       !before->producer->op.starts_with(nodes::cormorant_rows_);
  if (!is_made || kept_.contains(before) || before->type.bytes() != state->type.bytes()) return nullptr;
  return is_read_before(before, &node) ? before : nullptr;
}

std::vector<const ir::Node*> StatePlaces::writers(const ir::Update& update) const {
  std::vector<const ir::Node*> nodes;
  const ir::Value* made = root(update.value);
  if (made->kind != ir::ValueKind::result || made->type.bytes() != update.state->type.bytes()) return nodes;
  for (; made != nullptr; made = replaced_by(*made->producer, update.state)) nodes.push_back(made->producer);
  while (!nodes.empty() && !is_read_before(update.state, nodes.back())) nodes.pop_back();
  return nodes;
}

std::unordered_map<const ir::Value*, const ir::Value*> StatePlaces::states() const {
  std::unordered_map<const ir::Value*, const ir::Value*> all;
  for (const ir::Update& update : graph_.updates()) {
    all[root(update.value)] = update.state;
    std::vector<const ir::Node*> nodes = writers(update);
    for (std::size_t i = 1; i < nodes.size(); ++i) all[nodes[i]->result()] = update.state;
  }
  return all;
}

}  // namespace cormorant::ops
