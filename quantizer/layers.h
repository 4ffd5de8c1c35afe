// SPDX-License-Identifier: Apache-2.0
//
// Where accuracy is lost. The float and the quantized graph run side by side over data, and every quantized tensor is
// compared with its float form. Errors add up along a network, so a bad result of the last layer need not be its own
// fault: a layer's own error (its operands exact) and the one it inherits (its arithmetic exact) are measured apart,
// and the layer that harms the outputs most when it alone is quantized comes first.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/progress.h"
#include "ir/graph.h"
#include "ops/op.h"
#include "quantizer/samples.h"

namespace cormorant::quantizer {

// Ratios of signal to noise are infinite where there is no noise.
struct LayerError {
  std::string value, node, op, source;
  ops::Precision precision = ops::Precision::w8a8;
  double min = 0, max = 0;  // of the float tensor
  double scale = 0;
  std::int32_t zero_point = 0;
  double clipped_share = 0;  // of the float tensor's elements, outside what the integers express
  double sqnr_db = 0;        // of the quantized tensor
  double own_db = 0;         // the same with exact operands: rounding of weights and result, and clipping
  double inherited_db = 0;   // the float operator on the quantized operands
  double alone_db = 0;       // the worst of the graph's outputs when nothing else is quantized
};

struct LayerReport {
  std::vector<LayerError> layers;  // the one that costs most first
  std::vector<double> output_db;   // per output of the graph, all layers quantized
};

// `real` is the graph that `quantized` was made from: values with the same names correspond.
[[nodiscard]] LayerReport compare_layers(const ir::Graph& quantized, const ir::Graph& real, const Samples& samples,
                                         std::size_t threads = 0, const Progress& progress = {});

// Noise over signal of every output when one tensor alone is quantized, by the tensor's name in `real`: "alone" in the
// report. `quantized` is best refined for that (QuantizeOptions::refine_alone).
using Blame = std::unordered_map<std::string, std::vector<double>>;
[[nodiscard]] Blame blame(const ir::Graph& quantized, const ir::Graph& real, const Samples& samples,
                          std::size_t threads = 0, const Progress& progress = {});

}  // namespace cormorant::quantizer
