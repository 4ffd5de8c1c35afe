// SPDX-License-Identifier: Apache-2.0
//
// A copy of a graph, so that the quantized and the float form can be run side by side.
#pragma once

#include "ir/graph.h"

namespace cormorant::quantizer {

// Same names in the same order; the bytes of constants are shared, not copied. Unused values are left out.
[[nodiscard]] ir::Graph copy_of(const ir::Graph& graph);

}  // namespace cormorant::quantizer
