// SPDX-License-Identifier: Apache-2.0
//
// A region of memory over time as a picture: steps of the program to the right, bytes upwards, a rectangle per planned
// buffer. The rectangles are in an inner SVG whose units are steps and bytes, so that their attributes are the plan's
// own numbers; labels are outside it, where units are the same in both directions.
#pragma once

#include "emit/emit.h"
#include "report/html.h"

namespace cormorant {

// For a region that is not empty. A rectangle leads to #step-N, the step at which it begins.
void draw_memory(Html& html, const emit::RegionFacts& region, std::size_t steps);

}  // namespace cormorant
