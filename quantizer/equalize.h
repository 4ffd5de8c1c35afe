// SPDX-License-Identifier: Apache-2.0
//
// Cross-layer equalization of outlier channels. A tensor has one scale, so a channel with a thousand times the range of
// its neighbours leaves them next to no integers. Between two layers with nothing but a ReLU or pooling in between, a
// channel's size is free: dividing the first layer's weights by a factor and multiplying the second's by it computes
// the same. Factors are powers of two, so the float model's results do not change by a single bit.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "quantizer/settings.h"

namespace cormorant::quantizer {

struct EqualizedLayer {
  std::string node, source;  // the layer whose channels were scaled
  std::string next;          // the one that undoes it
  std::size_t channels = 0;  // that were outliers
  double largest_factor = 1;
};

// Ignores channels within a small factor: they cost less than a bit. The layers are ordered by factor, the largest
// first.
std::vector<EqualizedLayer> equalize(ir::Graph& graph, const std::vector<LayerSettings>& settings = {});

}  // namespace cormorant::quantizer
