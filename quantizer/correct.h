// SPDX-License-Identifier: Apache-2.0
//
// Bias correction. Rounded weights and clipped operands shift the mean of a layer's results, and a shifted mean, unlike
// noise, does not average out in the layers behind. The float and the quantized graph run side by side over a few
// samples, layer by layer; what a layer's results are off on average, per channel and before its activation, goes into
// its bias, and the layers behind see the corrected results.
#pragma once

#include "ir/graph.h"
#include "quantizer/options.h"
#include "quantizer/samples.h"

namespace cormorant::quantizer {

// `real` is the graph that `quantized` was made from: values with the same names stand for the same.
void correct_biases(ir::Graph& quantized, const ir::Graph& real, const Samples& samples,
                    const QuantizeOptions& options);

}  // namespace cormorant::quantizer
