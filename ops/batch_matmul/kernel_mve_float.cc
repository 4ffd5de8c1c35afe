// SPDX-License-Identifier: Apache-2.0
#include "ops/batch_matmul/batch_matmul.h"
#include "ops/batch_matmul/float_product.h"

namespace cormorant::ops::batch_matmul {
namespace {
void execute_bmm(const void* plan) { multiply_all<sum_row_mve>(*static_cast<const FloatPlan*>(plan)); }
}  // namespace

CORMORANT_KERNELS(CORMORANT_BATCH_MATMUL_KERNELS, mve_float)

}  // namespace cormorant::ops::batch_matmul
