// SPDX-License-Identifier: Apache-2.0
#include "kernels/float_mve.h"
#include "ops/load/float_plan.h"
#include "ops/mul/kernel.h"

namespace cormorant::ops::mul {
namespace {

struct Product {
  float operator()(float x, float y) const { return x * y; }
  float32x4_t operator()(float32x4_t x, float32x4_t y) const { return vmulq_f32(x, y); }
};

void execute_float(const void* plan) {
  map_broadcast(static_cast<const FloatBroadcastPlan*>(plan)->tensors, Product{});
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_MUL_KERNELS, mve_float)

}  // namespace cormorant::ops::mul
