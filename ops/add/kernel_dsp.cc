// SPDX-License-Identifier: Apache-2.0
//
// Programs for DSP cores have cormorant::add.scalar: byte loads, two MLA and an SSAT per element leave nothing for
// instructions on pairs to save. This is the form for programs of other compilers.
#include "base/fixed_point.h"
#include "ops/add/kernel.h"

namespace cormorant::ops::add {
namespace {

inline std::int32_t rescaled(std::int8_t value, const Rescale& to) {
  return requantize(shift_left(value - to.zero_point, kLeftShift), to.multiplier, to.shift);
}

void add(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const Plan p = *static_cast<const Plan*>(plan);
  std::int32_t y = 0;
  for (std::uint32_t i = 0; i < p.tensors.count; ++i) {
    if (i == 0 || !p.tensors.other_repeats) y = rescaled(other[i], p.other);
    const std::int32_t sum = rescaled(self[i], p.self) + y;
    const std::int32_t level = requantize(sum, p.output.multiplier, p.output.shift) + p.output.zero_point;
    out[i] = static_cast<std::int8_t>(clamp(level, p.activation_min, p.activation_max));
  }
}

void execute(const void* plan) { run_stretches(static_cast<const Plan*>(plan)->tensors, add, plan); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_ADD_KERNELS, dsp)

}  // namespace cormorant::ops::add
