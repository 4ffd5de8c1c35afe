// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ops/op.h"
#include "ops/recurrent/recurrent.h"

namespace cormorant::ops::recurrent {

// The kind of an aten.recurrent; none if it is unknown.
std::optional<Kind> kind_of(const ir::Node& node);

// Whether h is kept in the integers of the states that the layer returns: after a relu or a projection it may have any
// range, which is measured. (Else it is within ±1, or a c beside it is what counts.)
bool keeps_own_h(const ir::Node& node);

// A quantized aten.recurrent → cormorant.recurrent.<variant>, weights packed for the target.
ir::Value* lower(const Rewriter& rewriter);

}  // namespace cormorant::ops::recurrent
