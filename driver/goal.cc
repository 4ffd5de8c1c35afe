// SPDX-License-Identifier: Apache-2.0
#include "driver/goal.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace cormorant::driver {
namespace {

using Counts = std::map<std::string, std::int64_t>;

Counts measured_counts(const std::vector<emit::Step>& steps, const RunResult& run) {
  Counts counts;
  for (std::size_t i = 0; i < steps.size() && i < run.steps.size(); ++i) {
    counts[steps[i].node] += static_cast<std::int64_t>(run.steps[i].cycles);
  }
  return counts;
}

Counts estimated_counts(const std::vector<emit::Step>& steps) {
  Counts counts;
  for (const emit::Step& step : steps) {
    if (step.estimate) counts[step.node] += *step.estimate;
  }
  return counts;
}

// A node may be several instructions: a recurrent layer, for example.
struct Node {
  std::vector<std::string> ops;
  std::int64_t constant_bytes = 0;
};

std::map<std::string, Node> nodes_of(const std::vector<emit::Step>& steps) {
  std::map<std::string, Node> nodes;
  for (const emit::Step& step : steps) {
    Node& node = nodes[step.node];
    node.ops.push_back(step.op);
    node.constant_bytes += step.constant_bytes;
  }
  return nodes;
}

}  // namespace

bool loses(Optimize goal, bool measured, const RunResult& chosen, const RunResult& balanced) {
  if (goal == Optimize::size)
    return chosen.code_bytes + chosen.model_bytes >= balanced.code_bytes + balanced.model_bytes;
  return measured && chosen.execute_cycles >= balanced.execute_cycles;
}

Goal goal_of(const compiler::Compiled& compiled, const compiler::Compiled& balanced,
             const std::optional<LinkedGoal>& linked, bool is_measured) {
  const LinkedGoal* const measured = is_measured && linked ? &*linked : nullptr;
  const std::vector<emit::Step>& steps = compiled.facts.steps;
  const std::vector<emit::Step>& balanced_steps = balanced.facts.steps;
  const Counts now = measured != nullptr ? measured_counts(steps, measured->chosen) : estimated_counts(steps);
  const Counts then =
      measured != nullptr ? measured_counts(balanced_steps, measured->balanced) : estimated_counts(balanced_steps);
  Goal goal;
  goal.measured = measured != nullptr;
  const std::map<std::string, Node> before = nodes_of(balanced_steps);
  const std::map<std::string, Node> after = nodes_of(steps);
  std::set<std::string> seen;
  for (const emit::Step& step : steps) {
    const auto at = before.find(step.node);
    if (at == before.end() || !seen.insert(step.node).second) continue;
    const Node& node = after.at(step.node);
    const Node& other = at->second;
    if (node.ops == other.ops && node.constant_bytes == other.constant_bytes) continue;
    GoalRow row{step.node,
                fmt::format("{}", fmt::join(node.ops, ", ")),
                step.source,
                fmt::format("{}", fmt::join(other.ops, ", ")),
                node.constant_bytes - other.constant_bytes,
                {},
                {}};
    if (now.contains(step.node) && then.contains(step.node)) {
      const std::int64_t was = then.at(step.node);
      row.cycles = now.at(step.node) - was;
      if (was != 0) row.share = static_cast<double>(*row.cycles) / static_cast<double>(was);
    }
    goal.rows.push_back(std::move(row));
  }
  goal.model_bytes =
      static_cast<std::int64_t>(compiled.program.size()) - static_cast<std::int64_t>(balanced.program.size());
  if (linked) {
    goal.code_bytes =
        static_cast<std::int64_t>(linked->chosen.code_bytes) - static_cast<std::int64_t>(linked->balanced.code_bytes);
  }
  if (measured != nullptr) {
    const RunResult& chosen = measured->chosen;
    const RunResult& other = measured->balanced;
    goal.cycles = static_cast<std::int64_t>(chosen.execute_cycles) - static_cast<std::int64_t>(other.execute_cycles);
    goal.share = static_cast<double>(*goal.cycles) / static_cast<double>(other.execute_cycles);
  }
  return goal;
}

nlohmann::ordered_json goal_json(const Goal& goal, std::string_view name) {
  nlohmann::ordered_json json = {
      {"name", name}, {"cycles_are", goal.measured ? "measured" : "estimated"}, {"layers", nlohmann::json::array()}};
  for (const GoalRow& row : goal.rows) {
    nlohmann::ordered_json layer = {{"node", row.node},
                                    {"source", row.source},
                                    {"operator", row.op},
                                    {"balanced_operator", row.balanced_op},
                                    {"constant_bytes_added", row.constant_bytes}};
    if (row.cycles) layer["cycles_added"] = *row.cycles;
    json["layers"].push_back(std::move(layer));
  }
  json["model_bytes_added"] = goal.model_bytes;
  if (goal.code_bytes) json["code_bytes_added"] = *goal.code_bytes;
  if (goal.cycles) json["cycles_added"] = *goal.cycles;
  return json;
}

}  // namespace cormorant::driver
