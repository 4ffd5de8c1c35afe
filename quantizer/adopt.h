// SPDX-License-Identifier: Apache-2.0
//
// Models that are already quantized (PyTorch's PT2E flow, after calibration or quantization-aware training) have
// conversions around float operators: dequantize -> operator -> quantize. Such an operator becomes a quantized node,
// with the model's parameters, and the conversions around it disappear. What only answers (argmax, sort, a comparison
// with a number) reads the integers instead of the numbers they represent. An operator that the model leaves in float
// stays in float.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "quantizer/annotate.h"

namespace cormorant::quantizer {

// Whether activations are quantized, or integers of weights are read as such. A model that only dequantizes constants
// is one in float whose weights are stored as integers.
[[nodiscard]] bool is_quantized_model(const ir::Graph& graph);

// Makes it one in float: such constants become the numbers that they stand for. Returns how many there were; none of a
// quantized model's.
std::size_t real_weights(ir::Graph& graph);

struct AdoptReport {
  std::vector<FloatNode> float_nodes;  // in the graph's order
  std::vector<Decision> decisions;     // of every operator, likewise
};

// With int8_io the conversion of inputs and outputs is left to the caller: inputs and outputs become integers.
AdoptReport adopt(ir::Graph& graph, bool int8_io);

}  // namespace cormorant::quantizer
