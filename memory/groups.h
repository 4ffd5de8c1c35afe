// SPDX-License-Identifier: Apache-2.0
//
// The groups of a graph that are computed row by row (ops/rows/rows.h). A group's nodes are adjacent, in the order of a
// tick, the group itself last.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "ops/rows/cover.h"

namespace cormorant::memory {

bool is_group(const ir::Node& node);
bool is_feed(const ir::Node& node);  // of a whole image, or of rows as they arrive
bool is_push(const ir::Node& node);  // of the latter
// Only another view of memory that another node writes: no instruction, and no work for a group.
bool is_slab(const ir::Node& node);
bool is_window(const ir::Node& node);
// The input of a row computed in strips: moved, without an instruction.
bool is_cut(const ir::Node& node);
bool is_paste(const ir::Node& node);

// How many rows a feed or an operator of a group makes at a time.
std::int64_t batch_of(const ir::Value* rows);

// A group's schedule: one record per feed, operator and pasted row, in the order of a tick; operators between a cut and
// a paste are due when the paste is.
struct Schedule {
  static constexpr std::size_t kNumbers = 5;
  std::int64_t start = 0, period = 1, before = 0, rows = 0, after = 0;

  // Throws std::logic_error if it does not exist.
  Schedule(const ir::Node& group, std::size_t index);
};

// The ticks at which a member of a group is due.
struct Due {
  std::int64_t first = 0;     // to fill rows above the image, or to compute some
  std::int64_t computes = 0;  // the first of the latter
  std::int64_t last = 0;
};

class Groups {
 public:
  using Nodes = std::vector<const ir::Node*>;

  Groups() = default;
  explicit Groups(const ir::Graph& graph);

  // The group that the node is a member of, other than itself; null if none.
  [[nodiscard]] const ir::Node* group_of(const ir::Node& node) const;
  // In execution order.
  [[nodiscard]] const Nodes& members(const ir::Node& group) const { return members_.at(&group); }
  // The slab whose newest row a value is; null if none.
  [[nodiscard]] const ir::Value* slab_of(const ir::Value* row) const;
  // Whether the value's memory is kept from tick to tick: nothing else may be written there.
  [[nodiscard]] bool is_pinned(const ir::Value* value) const;

  // The members of a group that its schedule has records of.
  [[nodiscard]] Nodes scheduled(const ir::Node& group) const;
  // When each member that is not just a view is due.
  [[nodiscard]] std::unordered_map<const ir::Node*, Due> dues(const ir::Node& group) const;
  // When the rows of each image that the group is fed with have been copied, so that they are no longer needed there.
  using Feeds = std::vector<std::pair<const ir::Node*, ops::rows::Flow>>;
  [[nodiscard]] Feeds feeds(const ir::Node& group) const;
  // Whether some of its rows are computed in strips.
  [[nodiscard]] bool has_strips(const ir::Node& group) const;

  // The node by which rows of the program's input arrive at a group; null if they do not.
  [[nodiscard]] const ir::Node* push_of(const ir::Node& group) const;

  // The fed image that one of the group's results may overwrite, row by row, once it is no longer needed; null if there
  // is none.
  [[nodiscard]] const ir::Value* covered_by(const ir::Node& group, std::size_t result) const;

  // The steps that are instructions, from execution order to the program's order: stages after all others.
  [[nodiscard]] Nodes instructions(const Nodes& steps) const;

 private:
  // Of what the group's schedule says about one of its members.
  [[nodiscard]] static ops::rows::Flow flow_of(const ir::Node& member, const Schedule& schedule);

  std::unordered_map<const ir::Node*, Nodes> members_;
  std::unordered_map<const ir::Node*, const ir::Node*> group_of_;
  std::unordered_map<const ir::Value*, const ir::Value*> slab_of_;
};

}  // namespace cormorant::memory
