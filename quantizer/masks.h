// SPDX-License-Identifier: Apache-2.0
//
// Attention's masks: minus infinity, or a number like −1e9, added to scores that must not count. Integers have no such
// level, and one far away would cost the scores their resolution. So such scores get the lowest level of a sum that
// reaches just far enough below all others for their exponentials to vanish.
#pragma once

#include "ir/graph.h"
#include "quantizer/samples.h"

namespace cormorant::quantizer {

// Whether the number stands for minus infinity.
[[nodiscard]] bool is_masked(float value);

// The constant with another number for minus infinity.
[[nodiscard]] ir::Value* with_masked(ir::Graph& graph, const ir::Value& mask, float value);

// The constant operand of a sum that holds minus infinity, by its argument's name; empty if there is none.
[[nodiscard]] std::string mask_argument(const ir::Node& node);

// Bounds the sums before softmax by what their scores reach over the samples.
void bound_masks(ir::Graph& graph, const Samples& samples);

}  // namespace cormorant::quantizer
