// SPDX-License-Identifier: Apache-2.0
//
// Four elements at a time, in 32 bits: loads widen, VRSHL rounds as it shifts, and stores narrow.
#include <arm_mve.h>

#include "ops/add/kernel.h"

namespace cormorant::ops::add {
namespace {

void stretch(const WordsPlan& p, const std::int16_t* self, const std::int16_t* other, std::int16_t* out) {
  const int32x4_t low = vdupq_n_s32(p.activation_min), high = vdupq_n_s32(p.activation_max);
  const std::int32_t self_factor = p.self_factor, other_factor = p.other_factor, shift = -std::int32_t{p.shift};
  const bool repeats = p.tensors.other_repeats;
  int32x4_t y = vdupq_n_s32(repeats ? *other : 0);
  auto left = static_cast<std::int32_t>(p.tensors.count);
  for (; left >= 4; left -= 4, self += 4, out += 4) {
    if (!repeats) {
      y = vldrhq_s32(other);
      other += 4;
    }
    int32x4_t sum = vmlaq_n_s32(vmulq_n_s32(vldrhq_s32(self), self_factor), y, other_factor);
    sum = vrshlq_n_s32(sum, shift);
    vstrhq_s32(out, vminq_s32(vmaxq_s32(sum, low), high));
  }
  if (left == 0) return;
  const mve_pred16_t lanes = vctp32q(static_cast<std::uint32_t>(left));
  if (!repeats) y = vldrhq_z_s32(other, lanes);
  int32x4_t sum = vmlaq_n_s32(vmulq_n_s32(vldrhq_z_s32(self, lanes), self_factor), y, other_factor);
  sum = vrshlq_n_s32(sum, shift);
  vstrhq_p_s32(out, vminq_s32(vmaxq_s32(sum, low), high), lanes);
}

void execute_words(const void* raw) {
  const auto& plan = *static_cast<const WordsPlan*>(raw);
  for_each_stretch<std::int16_t>(plan.tensors, [&](const std::int16_t* self, const std::int16_t* other,
                                                   std::int16_t* out) { stretch(plan, self, other, out); });
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_ADD_KERNELS, mve_words)

}  // namespace cormorant::ops::add
