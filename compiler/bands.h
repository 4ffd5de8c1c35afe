// SPDX-License-Identifier: Apache-2.0
//
// More bands for the convolutions at which a program needs the most memory (ops/conv2d/bands.h).
#pragma once

#include "ir/graph.h"
#include "ops/op.h"

namespace cormorant::compiler {

// Whether programs for this target are worth it: those of MVE, unless they are to be fast.
bool has_bands(const ops::Config& config);

// As long as a layer at the peak can be computed in lower bands, and all of them together cost no more than a hundredth
// of the estimated time. What saves nothing is undone. Constants that this leaves unused are removed.
void lower_bands(ir::Graph& graph, ops::Runtime runtime);

}  // namespace cormorant::compiler
