// SPDX-License-Identifier: Apache-2.0
//
// Refines quantization on calibration data, layer by layer: weight rounding (quantizer/rounding.h), then biases.
// Rounded weights and clipped operands shift the mean of a layer's results, and a shifted mean, unlike noise, does not
// average out in later layers. The float and the quantized graph run side by side over a few samples, layer by layer;
// the mean error of a layer's results, per channel and before its activation, goes into its bias, and later layers see
// the corrected results.
#pragma once

#include <string>
#include <unordered_map>

#include "ir/graph.h"
#include "quantizer/options.h"
#include "quantizer/samples.h"

namespace cormorant::quantizer {

// `real` is the graph that `quantized` was made from: values with the same names correspond. Returns how many weights
// were not rounded to the nearest, per node that has refined weights.
std::unordered_map<std::string, std::size_t> refine(ir::Graph& quantized, const ir::Graph& real, const Samples& samples,
                                                    const QuantizeOptions& options);

}  // namespace cormorant::quantizer
