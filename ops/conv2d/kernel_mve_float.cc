// SPDX-License-Identifier: Apache-2.0
#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/float_walk.h"

namespace cormorant::ops::conv2d {
namespace {
void execute_convolution(const void* plan) { walk_convolution<sum_row_mve>(*static_cast<const FloatPlan*>(plan)); }
}  // namespace

CORMORANT_KERNELS(CORMORANT_CONV2D_KERNELS, mve_float)

}  // namespace cormorant::ops::conv2d
