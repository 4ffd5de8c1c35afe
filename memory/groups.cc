// SPDX-License-Identifier: Apache-2.0
#include "memory/groups.h"

#include <algorithm>
#include <stdexcept>

#include "ops/nodes.h"

namespace cormorant::memory {

bool is_group(const ir::Node& node) { return node.op == ops::nodes::cormorant_rows_group; }
bool is_feed(const ir::Node& node) { return node.op == ops::nodes::cormorant_rows_feed || is_push(node); }
bool is_push(const ir::Node& node) { return node.op == ops::nodes::cormorant_rows_push; }
bool is_slab(const ir::Node& node) { return node.op == ops::nodes::cormorant_rows_slab; }
bool is_window(const ir::Node& node) { return node.op == ops::nodes::cormorant_rows_window; }
bool is_cut(const ir::Node& node) { return node.op == ops::nodes::cormorant_rows_cut; }
bool is_paste(const ir::Node& node) { return node.op == ops::nodes::cormorant_rows_paste; }

std::int64_t batch_of(const ir::Value* rows) { return rows->type.shape.at(2); }

Schedule::Schedule(const ir::Node& group, std::size_t index) {
  const auto& numbers = group.integers("schedule");
  if (numbers.size() < kNumbers * (index + 1)) {
    throw std::logic_error("group '" + group.name + "' has more steps than its schedule");
  }
  const std::int64_t* at = numbers.data() + kNumbers * index;
  start = at[0];
  period = at[1];
  before = at[2];
  rows = at[3];
  after = at[4];
}

Groups::Groups(const ir::Graph& graph) {
  for (const ir::Node& node : graph.nodes()) {
    if (is_slab(node)) slab_of_[node.tensor("row")] = node.result();
    if (!is_group(node)) continue;
    // From what it collects and keeps, upwards; the images it is fed with are outside.
    Nodes& members = members_[&node];
    std::vector<const ir::Value*> pending;
    for (const char* argument : {"rows", "slabs"}) {
      for (const ir::Value* value : node.tensors(argument)) pending.push_back(value);
    }
    const auto& sources = node.tensors("sources");
    while (!pending.empty()) {
      const ir::Value* value = pending.back();
      pending.pop_back();
      const ir::Node* producer = value->producer;
      if (producer == nullptr || std::ranges::find(sources, value) != sources.end()) continue;
      if (!group_of_.try_emplace(producer, &node).second) continue;
      members.push_back(producer);
      if (is_feed(*producer)) continue;
      for (const ir::Value* input : producer->inputs()) pending.push_back(input);
    }
    std::ranges::sort(members, {}, [](const ir::Node* member) { return member->membership.order; });
  }
}

const ir::Node* Groups::group_of(const ir::Node& node) const {
  const auto found = group_of_.find(&node);
  return found == group_of_.end() ? nullptr : found->second;
}

const ir::Value* Groups::slab_of(const ir::Value* row) const {
  const auto found = slab_of_.find(row);
  return found == slab_of_.end() ? nullptr : found->second;
}

bool Groups::is_pinned(const ir::Value* value) const {
  return slab_of(value) != nullptr ||
         (value->producer != nullptr && (is_slab(*value->producer) || is_window(*value->producer)));
}

Groups::Nodes Groups::scheduled(const ir::Node& group) const {
  Nodes nodes;
  bool is_inside = false;  // of a strip
  for (const ir::Node* member : members(group)) {
    if (is_cut(*member)) is_inside = true;
    if (is_paste(*member)) is_inside = false;
    if (!is_inside && !is_slab(*member) && !is_window(*member)) nodes.push_back(member);
  }
  return nodes;
}

std::unordered_map<const ir::Node*, Due> Groups::dues(const ir::Node& group) const {
  std::unordered_map<const ir::Node*, Due> dues;
  std::size_t index = 0;
  for (const ir::Node* member : scheduled(group)) {
    const Schedule s(group, index++);
    const std::int64_t batch = batch_of(member->result());
    dues[member] = {.first = s.start,
                    .computes = s.start + s.period * (s.before / batch),
                    .last = s.start + s.period * ((s.before + s.rows + s.after) / batch - 1)};
  }
  Nodes strip;  // due when its row is
  for (const ir::Node* member : members(group)) {
    if (is_cut(*member) || !strip.empty()) strip.push_back(member);
    if (!is_paste(*member)) continue;
    for (const ir::Node* inner : strip) dues[inner] = dues.at(member);
    strip.clear();
  }
  return dues;
}

ops::rows::Flow Groups::flow_of(const ir::Node& member, const Schedule& s) {
  const std::int64_t batch = batch_of(member.result());
  return {.start = s.start + s.period * (s.before / batch),
          .period = s.period,
          .rows = s.rows,
          .row_bytes = member.result()->type.bytes() / batch,
          .batch = batch,
          .above = s.before % batch};
}

Groups::Feeds Groups::feeds(const ir::Node& group) const {
  Feeds flows;
  std::size_t index = 0;
  for (const ir::Node* member : scheduled(group)) {
    const Schedule schedule(group, index++);
    if (is_feed(*member) && !is_push(*member)) flows.emplace_back(member, flow_of(*member, schedule));
  }
  return flows;
}

bool Groups::has_strips(const ir::Node& group) const {
  return std::ranges::any_of(members(group), [](const ir::Node* member) { return is_paste(*member); });
}

const ir::Node* Groups::push_of(const ir::Node& group) const {
  const Nodes& nodes = members(group);
  const auto found = std::ranges::find_if(nodes, [](const ir::Node* member) { return is_push(*member); });
  return found == nodes.end() ? nullptr : *found;
}

const ir::Value* Groups::covered_by(const ir::Node& group, std::size_t result) const {
  const ir::Value* row = group.tensors("rows").at(result);
  std::vector<std::pair<const ir::Value*, ops::rows::Flow>> fed;
  ops::rows::Flow collected;
  std::size_t index = 0;
  for (const ir::Node* member : scheduled(group)) {
    const Schedule s(group, index++);
    const ops::rows::Flow flow = flow_of(*member, s);
    if (is_feed(*member) && !is_push(*member)) fed.emplace_back(member->tensor("source"), flow);
    if (member->result() == row) collected = flow;
  }
  for (const auto& [source, flow] : fed) {
    if (ops::rows::may_cover(flow, collected)) return source;
  }
  return nullptr;
}

Groups::Nodes Groups::instructions(const Nodes& steps) const {
  Nodes nodes;
  for (const bool is_member : {false, true}) {
    for (const ir::Node* step : steps) {
      const bool is_moved = is_feed(*step) || is_cut(*step) || is_paste(*step);
      if ((group_of(*step) != nullptr) == is_member && !is_moved) nodes.push_back(step);
    }
  }
  return nodes;
}

}  // namespace cormorant::memory
