// SPDX-License-Identifier: Apache-2.0
//
// Networks of one layer: the fifty for which CMSIS-NN's cycles are known (bench/peers_layers.json), and two that only
// our own figures watch.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace cormorant::bench {

struct Layer {
  std::string name;  // as in peers_layers.json
  std::function<ir::Graph()> build;
};

// Weights are distributed normally, as training leaves them, by one seed for all.
std::vector<Layer> layers();

// 28 steps of 28 numbers, an LSTM of 20 units, a linear layer of 10: the network for which TFLM's figures are known.
ir::Graph lstm();

}  // namespace cormorant::bench
