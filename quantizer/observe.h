// SPDX-License-Identifier: Apache-2.0
//
// Which observer's range is best for a tensor. By the tensor's own squared error it is always the one that minimizes
// just that; what counts is the resulting error where the tensor is used. Rounding noise averages out in the sums of a
// convolution, clipped values do not. So the float graph runs over a few samples, and every layer that reads the tensor
// is computed with each of the proposed ranges.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "quantizer/annotate.h"
#include "quantizer/options.h"
#include "quantizer/samples.h"

namespace cormorant::quantizer {

struct Proposal {
  std::vector<Observer> observers;  // who proposes it; more than one if they agree
  ir::QuantParams params;
};

// Every sample costs several evaluations of the network: large ones, whose layers have many results to compare, are
// judged by fewer.
[[nodiscard]] std::size_t samples_to_judge_by(const ir::Graph& graph, const Samples& samples);

// For every group the index of the best of its proposals: 0 unless another is better by more than chance. Groups whose
// parameters are fixed have none.
[[nodiscard]] std::vector<std::size_t> best_proposals(const ir::Graph& graph, const Annotation& annotation,
                                                      const std::vector<std::vector<Proposal>>& proposals,
                                                      const Samples& samples, std::size_t threads);

// For every group the index of what one observer proposes, 0 if it proposes nothing.
[[nodiscard]] std::vector<std::size_t> proposals_by(Observer observer,
                                                    const std::vector<std::vector<Proposal>>& proposals);

}  // namespace cormorant::quantizer
