// SPDX-License-Identifier: Apache-2.0
#include "memory/parts.h"

#include <algorithm>

#include "ops/host/state_places.h"
#include "ops/op.h"

namespace cormorant::memory {
// Constants are not in RAM, and states keep their contents when others change.
bool Parts::is_movable(const ir::Value* root) const {
  return (root->kind == ir::ValueKind::input || root->kind == ir::ValueKind::result) && !placed_.contains(root);
}

Parts::Parts(const Nodes& nodes, std::uint64_t alignment, const ir::Graph& graph) : alignment_(alignment) {
  for (const auto& [value, state] : ops::StatePlaces(graph).states()) placed_.insert(value);
  for (const ir::Node* node : nodes) {
    const ops::Operator* op = ops::find(*node);
    if (op == nullptr || node->results.size() != 1 || bytes_of(node->result()) == 0) continue;
    if (placed_.contains(node->result())) continue;
    bool is_part = op->joins != nullptr && op->joins(*node) && add_pieces(*node);
    if (!is_part && op->part_offset != nullptr) {
      const std::optional<std::uint64_t> offset = op->part_offset(*node);
      is_part = offset && add_view(*node, *offset);
    }
    if (!is_part) continue;
    nodes_.push_back(node);
    is_left_out_.insert(node);
  }
}

bool Parts::add_view(const ir::Node& node, std::uint64_t offset) {
  const ir::Value* whole = root(node.inputs().front());
  if (!is_movable(whole) || offset % alignment_of(node.result()) != 0) return false;
  put(node.result(), {whole, offset, true});
  return true;
}

// All of them or none: each can only be in one place.
bool Parts::add_pieces(const ir::Node& node) {
  std::vector<const ir::Value*> pieces;
  std::uint64_t offset = 0;
  for (const ir::Value* input : node.inputs()) {
    const ir::Value* piece = root(input);
    if (!is_movable(piece) || places_.contains(piece) || std::ranges::count(pieces, piece) != 0) return false;
    if (offset % alignment_of(node.result()) != 0 || bytes_of(piece) == 0) return false;
    pieces.push_back(piece);
    offset += bytes_of(piece);
  }
  if (offset != bytes_of(node.result())) return false;
  offset = 0;
  for (const ir::Value* piece : pieces) {
    put(piece, {node.result(), offset, false});
    offset += bytes_of(piece);
  }
  return true;
}

void Parts::put(const ir::Value* part, Place place) {
  places_[part] = place;
  // What was attached to the part is now attached to the outermost whole.
  std::vector<const ir::Value*> moved = {part};
  if (const auto tree = trees_.find(part); tree != trees_.end()) {
    moved = std::move(tree->second);
    trees_.erase(tree);
  }
  const ir::Value* whole = top(part).whole;
  auto& tree = trees_[whole];
  if (tree.empty()) tree.push_back(whole);
  tree.insert(tree.end(), moved.begin(), moved.end());
}

const Parts::Place* Parts::find(const ir::Value* root) const {
  const auto found = places_.find(root);
  return found == places_.end() ? nullptr : &found->second;
}

Parts::Place Parts::top(const ir::Value* root) const {
  Place place{root};
  while (const Place* outer = find(place.whole)) place = {outer->whole, place.offset + outer->offset};
  return place;
}

std::vector<const ir::Value*> Parts::sharing(const ir::Value* root) const {
  std::vector<const ir::Value*> values;
  const Place here = top(root);
  const auto tree = trees_.find(here.whole);
  if (tree == trees_.end()) return values;
  for (const ir::Value* other : tree->second) {
    const std::uint64_t begin = top(other).offset;
    if (other != root && begin < here.offset + bytes_of(root) && here.offset < begin + bytes_of(other)) {
      values.push_back(other);
    }
  }
  return values;
}

std::vector<const ir::Value*> Parts::sources(const ir::Value* value) const {
  const ir::Value* here = root(value);
  if (here->producer == nullptr || !contains(*here->producer)) return {here};
  std::vector<const ir::Value*> found;
  for (const ir::Value* input : here->producer->inputs()) {
    for (const ir::Value* source : sources(input)) {
      if (std::ranges::count(found, source) == 0) found.push_back(source);
    }
  }
  return found;
}

}  // namespace cormorant::memory
