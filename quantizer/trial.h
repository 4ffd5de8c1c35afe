// SPDX-License-Identifier: Apache-2.0
//
// Which set of parameters is best for the network. What is best for each tensor on its own need not be best together:
// errors of one layer add to those of the next or cancel them, and biases and weights compensate for some. So the
// network is quantized with each set, and the error of its outputs decides.
#pragma once

#include "quantizer/calibrate.h"

namespace cormorant::quantizer {

struct Trial {
  ir::Graph graph;
  std::size_t chosen = 0;                                // of the candidates
  std::unordered_map<std::string, std::size_t> rounded;  // what refine() returned
};

// Quantizes with these parameters, as the options say.
[[nodiscard]] Trial quantize_with(const ir::Graph& real, const Parameters& parameters, const Samples& samples,
                                  const QuantizeOptions& options);

// The error of the outputs against those of the float graph, over some samples.
class Yardstick {
 public:
  Yardstick(const ir::Graph& real, const Samples& samples, std::size_t threads);
  // SQNR of each output, infinite without noise.
  [[nodiscard]] std::vector<double> output_db(const ir::Graph& quantized) const;

 private:
  std::size_t threads_;
  std::vector<Sample> samples_;
  std::vector<std::vector<evaluate::Tensor>> wanted_;  // per sample and output
};

// What a network is also judged by if this output is a softmax's: the softmax's operand. Null otherwise. Most samples'
// probabilities are all but certain; their error is that of the few others, and chance decides which these are.
[[nodiscard]] ir::Value* read_by_softmax(const ir::Value* output);

// Candidates have one set of parameters per group of annotate(`real`), the float graph. The first candidate is kept
// unless another is clearly better; large networks are not tried: they get the first.
[[nodiscard]] Trial quantize_with_best(const ir::Graph& real, const std::vector<Parameters>& candidates,
                                       const Samples& samples, const QuantizeOptions& options);

}  // namespace cormorant::quantizer
