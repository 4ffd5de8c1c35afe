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

namespace cormorant::driver {

// Both programs in firmware; on the board, profiled, if they are measured.
struct LinkedGoal {
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

// Whether the goal's program is no better than the balanced one: its firmware is not smaller, or it is not faster where
// that was measured.
bool loses(Optimize goal, bool measured, const RunResult& chosen, const RunResult& balanced);

Goal goal_of(const compiler::Compiled& compiled, const compiler::Compiled& balanced,
             const std::optional<LinkedGoal>& linked, bool is_measured);
nlohmann::ordered_json goal_json(const Goal& goal, std::string_view name);

}  // namespace cormorant::driver
