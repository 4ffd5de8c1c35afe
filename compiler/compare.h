// SPDX-License-Identifier: Apache-2.0
//
// How far a quantized graph is from its float graph, tensor by tensor, over a few samples: cheap enough for every
// compilation. quantizer/layers.h finds the layers responsible, which takes longer.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "passes/passes.h"
#include "quantizer/samples.h"

namespace cormorant::compiler {

struct Comparison {
  std::size_t samples = 0;
  std::map<std::string, double> node_db;  // the worst of a node's quantized results; infinite without noise
  std::vector<double> output_db;          // per output of the graph
};

Comparison compare(const ir::Graph& quantized, const ir::Graph& real, const quantizer::Samples& data,
                   std::size_t samples, std::size_t threads);

// How far a causal stream is from the network over a window: over some of the samples, both quantized, with a stream
// that continues from another sample. In dB, per output.
std::vector<double> compare_streamed(const ir::Graph& window, const ir::Graph& streamed,
                                     const passes::StreamOptions& options,
                                     std::span<const passes::StreamedOutput> outputs, const quantizer::Samples& data,
                                     std::size_t samples);

}  // namespace cormorant::compiler
