// SPDX-License-Identifier: Apache-2.0
//
// What the float forms of operators (ops/<op>/float.cc) share in the compiler.
#pragma once

#include "ops/op.h"

namespace cormorant::ops {

// A float constant in logical order: portable kernels read parameters without looking at their dim order. Other values
// are returned unchanged, since the layout pass gives them that order.
ir::Value* in_logical_order(const Rewriter& rewriter, std::string_view suffix, ir::Value* value);

// Throws if a tensor of the node has a dimension of more than `largest`, which its float kernel cannot count.
void require_sizes_up_to(const Rewriter& rewriter, std::int64_t largest);

// Throws for an operator that ExecuTorch's portable kernels lack.
void require_own_runtime(const Rewriter& rewriter);

}  // namespace cormorant::ops
