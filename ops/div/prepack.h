// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "ops/div/div.h"
#include "ops/op.h"

namespace cormorant::ops::div {

// The table with which cormorant::div computes the same as cortex_m::quantized_div, for every pair of bytes.
std::optional<std::vector<std::int32_t>> find_table(std::int32_t other_zero_point, float scale);

// cortex_m.quantized_div -> cormorant.div.<isa>.
ir::Value* prepack(const Rewriter& rewriter);

}  // namespace cormorant::ops::div
