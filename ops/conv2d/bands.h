// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of MVE that walk down columns compute band by band, and their output may cover what is left of the
// input by a band (overlap.h). More bands need less memory, and cost a little time: every stretch of a column begins
// with a copy of what its window sees. Host only.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/graph.h"

namespace cormorant::ops::conv2d {

struct Bands {
  std::uint8_t count = 0;
  std::int64_t cycles = 0;  // more than with the bands that it has, estimated
};

// The next larger number of bands of a packed convolution; none where it does not walk down columns, or its bands are
// as low as they get.
std::optional<Bands> next_bands(const ir::Node& node);

// Gives the node a packed constant of its own.
void set_bands(ir::Graph& graph, ir::Node& node, std::uint8_t count);

}  // namespace cormorant::ops::conv2d
