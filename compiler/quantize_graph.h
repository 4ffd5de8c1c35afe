// SPDX-License-Identifier: Apache-2.0
//
// The stages that decide how a graph is quantized: by calibration, by the model's own parameters, or with bits chosen
// per layer.
#pragma once

#include "compiler/compile.h"

namespace cormorant::compiler {

// Weights that are quantized, of a model whose activations are not, become the numbers that they stand for.
void real_weights(ir::Graph& graph, Context& context);

// A PReLU or leaky ReLU becomes part of the convolution before it, where its kernels can have it.
void fuse_slopes(ir::Graph& graph, Context& context);

quantizer::QuantizeOptions quantizer_options(const Options& options);

void quantize_graph(ir::Graph& graph, Context& context);

}  // namespace cormorant::compiler
