// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace cormorant::compiler {

// Throws InputError for a module path that no node of the model has, naming those that look like it.
void check_float_layers(const ir::Graph& graph, const std::vector<std::string>& layers);

}  // namespace cormorant::compiler
