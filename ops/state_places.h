// SPDX-License-Identifier: Apache-2.0
//
// What a state becomes is made in the state's own memory where that is possible: where every reader of the old contents
// comes before the node that makes the new ones, or is that node and works in place. Where parts of something are
// replaced (ops/update), and nobody reads it afterwards, it can be made there too, and costs no copy. All who place
// values (passes/place_updates.cc, emit/) ask here.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"

namespace cormorant::ops {

class StatePlaces {
 public:
  explicit StatePlaces(const ir::Graph& graph);

  // The nodes that write into the state's memory, the last one first. None: the value cannot be made there.
  [[nodiscard]] std::vector<const ir::Node*> writers(const ir::Update& update) const;
  // The state in whose memory a value lies, by the value's root; of all updates, which place_updates has made possible.
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
