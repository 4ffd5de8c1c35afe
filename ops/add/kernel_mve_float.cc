// SPDX-License-Identifier: Apache-2.0
#include "kernels/float_mve.h"
#include "ops/add/add.h"
#include "ops/add/kernel.h"
#include "ops/load/float_plan.h"

namespace cormorant::ops::add {
namespace {

struct WeightedSum {
  float alpha;
  float operator()(float x, float y) const { return x + alpha * y; }
  float32x4_t operator()(float32x4_t x, float32x4_t y) const { return vaddq_f32(x, vmulq_n_f32(y, alpha)); }
};

void execute_float(const void* plan) {
  const auto& p = *static_cast<const FloatBroadcastPlan*>(plan);
  map_broadcast(p.tensors, WeightedSum{p.parameter});
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_ADD_KERNELS, mve_float)

}  // namespace cormorant::ops::add
