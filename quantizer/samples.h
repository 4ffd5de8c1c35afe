// SPDX-License-Identifier: Apache-2.0
//
// Calibration inputs, loaded one sample at a time, so that the data set may be larger than memory.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "evaluate/tensor.h"

namespace cormorant::quantizer {

// One tensor per graph input, in the graph's order; with_states() appends one per state.
using Sample = std::vector<evaluate::Tensor>;

struct Samples {
  std::size_t count = 0;
  std::function<Sample(std::size_t)> load;  // called by several threads at once
  // Sequences of so many samples, one after another: a model's state is kept from each step of a sequence to the next,
  // and starts afresh with each sequence.
  std::size_t steps = 1;
};

// The same samples with what the states hold when each step begins: the graph runs through every sequence once, and
// from then on each step is a sample of its own. Unchanged for a graph without state.
[[nodiscard]] Samples with_states(const ir::Graph& graph, const Samples& samples, std::size_t threads);

[[nodiscard]] Samples samples_of(std::vector<Sample> samples);

// About this many of them, spread over all: whole sequences, at least one. `samples` must outlive the result.
[[nodiscard]] Samples few_of(const Samples& samples, std::size_t wanted);

// Normally distributed numbers, the same in every run, for a model without data. Integer inputs are zero. A model with
// state gets sequences.
[[nodiscard]] Samples random_samples(const ir::Graph& graph, std::size_t count, std::uint64_t seed);

}  // namespace cormorant::quantizer
