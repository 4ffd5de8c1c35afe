// SPDX-License-Identifier: Apache-2.0
//
// What the pipeline finds out besides the program: warnings, and figures for reports.
#pragma once

#include "compiler/compile.h"

namespace cormorant::compiler {

void warn_of_nan(const ir::Graph& graph, Facts& facts);
// Of canonical nodes: once they are lowered, the graph no longer says.
void count_macs(const ir::Graph& graph, Facts& facts);
// Tells the steps of the program what was counted.
void give_steps_macs(const ir::Graph& graph, Facts& facts);
void warn_of_unpacking(Facts& facts);

}  // namespace cormorant::compiler
