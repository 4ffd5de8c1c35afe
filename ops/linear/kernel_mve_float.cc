// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/float_product.h"
#include "ops/linear/linear.h"

namespace cormorant::ops::linear {
namespace {
void execute_linear(const void* plan) { multiply_by_weight<sum_row_mve>(*static_cast<const FloatPlan*>(plan)); }
void execute_float(const void* plan) { multiply_and_add<sum_row_mve>(*static_cast<const FloatPlan*>(plan)); }
}  // namespace

CORMORANT_KERNELS(CORMORANT_LINEAR_KERNELS, mve_float)

}  // namespace cormorant::ops::linear
