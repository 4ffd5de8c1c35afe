// SPDX-License-Identifier: Apache-2.0
//
// A GRU or an RNN with tanh gives its last h twice: among the states of all steps, which become int8, and as a result
// of its own with 16 bits. Readers that compute with it need the former; the recurrence itself continues with the
// latter: a state of the program, the beginning of another layer, and an output where the model takes h as an input. So
// do readers that compute with 16 bits.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"
#include "quantizer/samples.h"

namespace cormorant::quantizer {

// `wide` has the nodes that compute with 16 bits.
void keep_last_states(ir::Graph& graph, const std::unordered_set<const ir::Node*>& wide);

// The 16 bits hold ±1, which h cannot leave unless it begins beyond. Layers that do so in the samples, by more than
// saturation may cost, are written out: every operator of a step has a range of its own then. Returns what users should
// know of them.
[[nodiscard]] std::vector<std::string> write_out_unbounded(ir::Graph& graph, const Samples& samples);

}  // namespace cormorant::quantizer
