// SPDX-License-Identifier: Apache-2.0
#include "kernels/requantize.h"
#include "ops/softmax/rows.h"

namespace cormorant::ops::softmax {
namespace {

constexpr auto kMultiply = kHasLongMultiply ? doubling_high_multiply : doubling_high_multiply_in_pieces;

void execute(const void* plan) { softmax_rows<kMultiply>(*static_cast<const Plan*>(plan)); }

}  // namespace
}  // namespace cormorant::ops::softmax

CORMORANT_KERNEL(cortex_m_softmax_out_scalar, "cortex_m::softmax.out", cormorant::ops::softmax::load,
                 cormorant::ops::softmax::execute)
