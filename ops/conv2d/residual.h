// SPDX-License-Identifier: Apache-2.0
//
// A residual connection's addition as part of the convolution before it, for MVE: without it the convolution's result
// and the operand are both in memory, while the convolution's input, of which the result covers all but a band, makes
// place for neither. Other instruction sets compute pixel by pixel, so that the result covers its input but for a row:
// there is next to nothing to save. Host only.
#pragma once

#include "kernels/sum_factors.h"
#include "ops/op.h"

namespace cormorant::ops::conv2d {

// The node is self + other with these factors, clamped to int8 only, and its operands are prepacked. Becomes one node
// with the convolution that computes an operand, if that operand has no other reader and the result can take the
// other's place; else null.
ir::Value* absorb_sum(const Rewriter& rewriter, ir::Value* self, ir::Value* other, const SumFactors& factors);

}  // namespace cormorant::ops::conv2d
