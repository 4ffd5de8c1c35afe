// SPDX-License-Identifier: Apache-2.0
//
// A GRU or RNN layer gives its last h twice: among the states of all steps, which become int8, and as a result of its
// own with 16 bits. Readers that compute with it need the former; the recurrence itself continues with the latter: a
// state of the program, the beginning of another layer, and an output where the model takes h as an input. So do
// readers that compute with 16 bits.
#pragma once

#include <unordered_set>

#include "ir/graph.h"

namespace cormorant::quantizer {

// `wide` has the nodes that compute with 16 bits.
void keep_last_states(ir::Graph& graph, const std::unordered_set<const ir::Node*>& wide);

}  // namespace cormorant::quantizer
