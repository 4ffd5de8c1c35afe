// SPDX-License-Identifier: Apache-2.0
//
// Weight rounding refined on calibration data. Rounding each weight to the nearest integer is best for the weight, not
// for the sum it is part of: inputs of a layer are correlated, and errors of weights whose inputs rise and fall
// together can cancel. From the second moments of the layer's inputs the squared error of its sums is known for any
// rounding; weights go to the other neighbour, one after another, as long as that error falls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evaluate/tensor.h"
#include "ir/graph.h"

namespace cormorant::quantizer {

struct RoundedWeights {
  std::vector<std::int8_t> weights;
  std::size_t changed = 0;  // went to the neighbour that is not the nearest
};

// The node's arguments that are int8 weights of a convolution, linear or recurrent layer, and no other node's.
[[nodiscard]] std::vector<std::string> refinable_weights(const ir::Graph& graph, const ir::Node& node);

// `real` are the weights of this argument in float, `inputs` what they multiply, one tensor per sample. With a bias to
// take the mean of the error, only its variance counts. The result does not depend on the number of threads.
[[nodiscard]] RoundedWeights refine_weights(const ir::Node& node, const std::string& argument,
                                            const evaluate::Tensor& real, const std::vector<evaluate::Tensor>& inputs,
                                            bool has_bias, std::size_t threads);

}  // namespace cormorant::quantizer
