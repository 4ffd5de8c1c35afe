// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ops/add/kernel.h"
#include "ops/op.h"

namespace cormorant::ops::add {

// Factors with which cormorant::add computes the same as cortex_m::quantized_add with `plan`'s parameters, for every
// pair of bytes. None exist for some parameters; they are rare.
std::optional<Factors> find_factors(const Plan& plan);

// cortex_m.quantized_add -> cormorant.add.<isa>.
ir::Value* prepack(const Rewriter& rewriter);

}  // namespace cormorant::ops::add
