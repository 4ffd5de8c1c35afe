// SPDX-License-Identifier: Apache-2.0
//
// Where calibration inputs come from: loaded one sample at a time, so that the data set may be larger than memory.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "evaluate/tensor.h"

namespace cormorant::quantizer {

using Sample = std::vector<evaluate::Tensor>;  // one tensor per graph input, in the graph's order

struct Samples {
  std::size_t count = 0;
  std::function<Sample(std::size_t)> load;  // called by several threads at once
};

[[nodiscard]] Samples samples_of(std::vector<Sample> samples);

// Normally distributed numbers, the same in every run, for a model that comes without data. Integer inputs are zero.
[[nodiscard]] Samples random_samples(const ir::Graph& graph, std::size_t count, std::uint64_t seed);

}  // namespace cormorant::quantizer
