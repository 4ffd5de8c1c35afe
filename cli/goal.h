// SPDX-License-Identifier: Apache-2.0
//
// What --optimize=speed or size costs and gains, layer by layer, compared with the balanced program of the same model.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "runner/launcher.h"

namespace cormorant::cli {

// Both programs on the board, profiled.
struct MeasuredGoal {
  RunResult chosen, balanced;
};

struct GoalRow {
  std::string node, op, source;
  std::string balanced_op;
  std::int64_t constant_bytes = 0;     // more than balanced
  std::optional<std::int64_t> cycles;  // likewise; estimated, or measured
  std::optional<double> share;         // of balanced's
};

struct Goal {
  std::vector<GoalRow> rows;     // layers that differ
  std::int64_t model_bytes = 0;  // more than balanced
  bool measured = false;         // cycles, on the emulated board; else estimated
  std::optional<std::int64_t> code_bytes, cycles;
  std::optional<double> share;
};

Goal goal_of(const compiler::Compiled& compiled, const compiler::Compiled& balanced,
             const std::optional<MeasuredGoal>& measured);
void print_goal(const Goal& goal, std::string_view name);
nlohmann::ordered_json goal_json(const Goal& goal, std::string_view name);

}  // namespace cormorant::cli
