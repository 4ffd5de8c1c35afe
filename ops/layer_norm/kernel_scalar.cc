// SPDX-License-Identifier: Apache-2.0
#include "kernels/requantize.h"
#include "ops/layer_norm/rows.h"

namespace cormorant::ops::layer_norm {
namespace {

constexpr auto kMultiply = kHasLongMultiply ? doubling_high_multiply : doubling_high_multiply_in_pieces;

void execute(const void* plan) { normalise_rows<kMultiply, plain_statistics>(*static_cast<const Plan*>(plan)); }

}  // namespace
}  // namespace cormorant::ops::layer_norm

CORMORANT_KERNEL(cormorant_layer_norm_scalar, cormorant::ops::layer_norm::kScalar, cormorant::ops::layer_norm::load,
                 cormorant::ops::layer_norm::execute)
