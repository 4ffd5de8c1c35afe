// SPDX-License-Identifier: Apache-2.0
//
// Values inside other values' memory: a slice of its source, an operand of a concatenation. The operators between them
// then have nothing to do and are left out of the program.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"
#include "ops/op.h"

namespace cormorant::memory {

inline std::uint64_t bytes_of(const ir::Value* value) { return static_cast<std::uint64_t>(value->type.bytes()); }

using ops::root;

class Parts {
 public:
  struct Place {
    const ir::Value* whole = nullptr;  // a root
    std::uint64_t offset = 0;
    bool is_view = false;  // the whole was there first
  };
  using Nodes = std::vector<const ir::Node*>;

  Parts() = default;
  // For these nodes' values, where possible; nodes in execution order. Offsets are multiples of the alignment. States'
  // new contents already have a place.
  Parts(const Nodes& nodes, std::uint64_t alignment, const ir::Graph& graph);

  [[nodiscard]] const Nodes& nodes() const { return nodes_; }  // that are not instructions
  [[nodiscard]] bool contains(const ir::Node& node) const { return is_left_out_.contains(&node); }
  // Null if the root is not a part.
  [[nodiscard]] const Place* find(const ir::Value* root) const;
  // The other roots that at least partly overlap this one's bytes.
  [[nodiscard]] std::vector<const ir::Value*> sharing(const ir::Value* root) const;
  // The values that must be computed and kept for this one, parts and wholes seen through.
  [[nodiscard]] std::vector<const ir::Value*> sources(const ir::Value* value) const;

 private:
  [[nodiscard]] bool add_view(const ir::Node& node, std::uint64_t offset);
  [[nodiscard]] bool add_pieces(const ir::Node& node);
  // The alignment, and no less than the loader asks of the element type.
  [[nodiscard]] std::uint64_t alignment_of(const ir::Value* value) const {
    return std::max<std::uint64_t>(alignment_, size_of(value->type.dtype));
  }
  void put(const ir::Value* part, Place place);
  [[nodiscard]] Place top(const ir::Value* root) const;

  [[nodiscard]] bool is_movable(const ir::Value* root) const;

  std::uint64_t alignment_ = 1;
  std::unordered_set<const ir::Value*> placed_;  // in a state's memory
  Nodes nodes_;
  std::unordered_set<const ir::Node*> is_left_out_;
  std::unordered_map<const ir::Value*, Place> places_;
  std::unordered_map<const ir::Value*, std::vector<const ir::Value*>> trees_;  // by their outermost whole
};

}  // namespace cormorant::memory
