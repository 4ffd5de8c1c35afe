// SPDX-License-Identifier: Apache-2.0
//
// The last step of quantization: the graph itself changes. Quantized nodes get integer operands, constants and results;
// where a tensor crosses between float and integers, one conversion is inserted, shared by all that need it.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "quantizer/annotate.h"
#include "quantizer/options.h"

namespace cormorant::quantizer {

// `params` holds one set per group of the annotation, whose nodes and values must be the graph's.
void convert(ir::Graph& graph, const Annotation& annotation, const std::vector<ir::QuantParams>& params,
             const QuantizeOptions& options);

}  // namespace cormorant::quantizer
