// SPDX-License-Identifier: Apache-2.0
#include "kernels/float_mve.h"
#include "kernels/vpr.h"
#include "ops/clamp/kernel.h"
#include "ops/load/float_plan.h"

namespace cormorant::ops {
namespace {

// By comparisons that are false for a NaN, which thus stays: of MVE's, these are EQ, GE and GT.
struct Bounds {
  float low, high;
  float operator()(float x, float /*unused*/) const {
    const float above = x < low ? low : x;
    return above > high ? high : above;
  }
  float32x4_t operator()(float32x4_t x, float32x4_t lows) const {
    asm("vpt.f32 gt, %q[lows], %q[x]\n"
        "vdupt.32 %q[x], %[low]\n"
        "vpt.f32 gt, %q[x], %[high]\n"
        "vdupt.32 %q[x], %[high]\n"
        : [x] "+&w"(x)
        : [lows] "w"(lows), [low] "r"(low), [high] "r"(high)
        : CORMORANT_VPR "cc");
    return x;
  }
};

void execute_float_clamp(const void* plan) {
  const auto& p = *static_cast<const FloatMapPlan*>(plan);
  if (is_int8_clamp(p)) return execute_int8_clamp(p);
  map_floats(p.input, 1, &p.parameters[0], 0, p.output, p.count, Bounds{p.parameters[0], p.parameters[1]});
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_CLAMP_KERNELS, mve_float)

}  // namespace cormorant::ops
