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

void execute(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  const Rescale self = p.self;
  const Rescale other = p.other;
  const Rescale output = p.output;
  const std::int8_t* a = p.tensors.self;
  std::int8_t* out = p.tensors.out;
  for (std::uint32_t r = 0; r < p.tensors.repeat; ++r) {
    for (std::uint32_t i = 0; i < p.tensors.count; ++i) {
      const std::int32_t sum = rescaled(*a++, self) + rescaled(p.tensors.other[i], other);
      const std::int32_t level = requantize(sum, output.multiplier, output.shift) + output.zero_point;
      *out++ = static_cast<std::int8_t>(clamp(level, p.activation_min, p.activation_max));
    }
  }
}

}  // namespace
}  // namespace cormorant::ops::add

CORMORANT_KERNEL(cortex_m_quantized_add_out_dsp, "cortex_m::quantized_add.out", cormorant::ops::add::load,
                 cormorant::ops::add::execute)
