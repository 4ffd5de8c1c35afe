// SPDX-License-Identifier: Apache-2.0
//
// A state's new contents are computed in the state's own memory if possible: if every reader of the old contents comes
// before the node that computes the new ones, or is that node and works in place. If parts of a value are replaced
// (ops/update) and nothing reads it afterwards, it can be computed there too, at the cost of no copy. Everything that
// places values (passes/place_updates.cc, emit/) asks here.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"

namespace cormorant::ops {

class StatePlaces {
 public:
  explicit StatePlaces(const ir::Graph& graph);

  // The nodes that write into the state's memory, the last one first. None: the value cannot be computed there.
  [[nodiscard]] std::vector<const ir::Node*> writers(const ir::Update& update) const;
  // The state in whose memory a value is, by the value's root; for all updates that place_updates has made possible.
  [[nodiscard]] std::unordered_map<const ir::Value*, const ir::Value*> states() const;

 private:
  struct Reader {
    const ir::Node* node;
    std::size_t count;  // how often it has the value as an argument
  };
  [[nodiscard]] const std::vector<Reader>& readers(const ir::Value* root) const;
  [[nodiscard]] bool is_read_before(const ir::Value* root, const ir::Node* writer) const;
  [[nodiscard]] const ir::Value* replaced_by(const ir::Node& node, const ir::Value* state) const;

  const ir::Graph& graph_;
  std::unordered_map<const ir::Node*, std::size_t> position_;
  std::unordered_map<const ir::Value*, std::vector<Reader>> readers_;  // by root, in order; aliases seen through
  std::unordered_set<const ir::Value*> kept_;                          // roots that are outputs or what a state becomes
};

}  // namespace cormorant::ops
