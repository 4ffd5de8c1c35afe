// SPDX-License-Identifier: Apache-2.0
//
// Four elements at a time, their entries gathered from the table; one entry for all if the divisor repeats.
#include <arm_mve.h>

#include "ops/div/kernel.h"

namespace cormorant::ops::div {
namespace {

void divide_by_table(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const auto& p = *static_cast<const TablePlan*>(plan);
  const std::int32_t* const table = p.table - 128;
  const int32x4_t low = vdupq_n_s32(p.activation_min - p.output_zero_point);
  const int32x4_t high = vdupq_n_s32(p.activation_max - p.output_zero_point);
  const int32x4_t one = vdupq_n_s32(*self);
  int32x4_t entry = vdupq_n_s32(p.table[*other]);
  for (std::uint32_t i = 0; i < p.tensors.count; i += 4) {
    const mve_pred16_t lanes = vctp32q(p.tensors.count - i);
    const int32x4_t x = p.tensors.self_repeats ? one : vldrbq_z_s32(self + i, lanes);
    if (!p.tensors.other_repeats) {
      const int32x4_t index = vaddq_n_s32(vldrbq_z_s32(other + i, lanes), 128);
      entry = vldrwq_gather_shifted_offset_z_s32(table, vreinterpretq_u32_s32(index), lanes);
    }
    const int32x4_t product = vmulq_s32(vsubq_n_s32(x, p.self_zero_point), vshrq_n_s32(entry, 5));
    const int32x4_t right = vmvnq_s32(vandq_s32(entry, vdupq_n_s32(31)));  // minus one, negated
    // Ties of negative numbers round down.
    const int32x4_t level = vrshlq_s32(vaddq_s32(product, vshrq_n_s32(product, 31)), right);
    vstrbq_p_s32(out + i, vaddq_n_s32(vminq_s32(vmaxq_s32(level, low), high), p.output_zero_point), lanes);
  }
}

void execute_table(const void* plan) {
  run_stretches(static_cast<const TablePlan*>(plan)->tensors, divide_by_table, plan);
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_DIV_KERNELS, mve)

}  // namespace cormorant::ops::div
