// SPDX-License-Identifier: Apache-2.0
//
// Checks that hold for every graph whatever its operators mean: definitions before uses, names unique, types sound.
// Run after every stage; a violation is a bug in the preceding stage (std::logic_error), not in the model.
#pragma once

#include <string_view>

#include "ir/graph.h"

namespace cormorant::ir {

void verify(const Graph& graph, std::string_view stage);

}  // namespace cormorant::ir
