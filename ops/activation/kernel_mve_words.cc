// SPDX-License-Identifier: Apache-2.0
//
// interpolated() and rounded_word() in four lanes: three gathers, and VSHL by a negative amount rounds down as >> does.
#include <arm_mve.h>

#include "ops/activation/kernel.h"

namespace cormorant::ops {
namespace {

void execute_words(const void* raw) {
  const WordsActivationPlan p = *static_cast<const WordsActivationPlan*>(raw);
  const std::int32_t segment_shift = -p.table.segment_bits;
  const std::int32_t inputs_mask = (1 << p.table.segment_bits) - 1;
  const std::int16_t* from = p.input;
  std::int16_t* to = p.output;
  for (std::uint32_t left = p.count;; left -= 4, from += 4, to += 4) {
    const mve_pred16_t lanes = vctp32q(left);
    const int32x4_t inputs = vaddq_n_s32(vldrhq_z_s32(from, lanes), 32768);
    const int32x4_t segment = vldrwq_gather_shifted_offset_z_s32(
        p.table.segments, vreinterpretq_u32_s32(vshlq_r_s32(inputs, segment_shift)), lanes);
    const int32x4_t shift = vandq_s32(segment, vdupq_n_s32(15));
    const int32x4_t right = vnegq_s32(shift);
    const int32x4_t rest = vandq_s32(inputs, vdupq_n_s32(inputs_mask));
    const int32x4_t part = vshlq_s32(rest, right);
    const uint32x4_t at = vreinterpretq_u32_s32(vaddq_s32(vshrq_n_s32(segment, 4), part));
    const int32x4_t first = vldrwq_gather_shifted_offset_z_s32(p.table.values, at, lanes);
    const int32x4_t second = vldrwq_gather_shifted_offset_z_s32(p.table.values + 1, at, lanes);
    const int32x4_t between = vsubq_s32(rest, vshlq_s32(part, shift));
    const int32x4_t rise = vshlq_s32(vmulq_s32(vsubq_s32(second, first), between), right);
    const int32x4_t level = vrshrq_n_s32(vaddq_s32(first, rise), kWordsFraction);
    const int32x4_t bounded = vminq_s32(vmaxq_s32(level, vdupq_n_s32(-32768)), vdupq_n_s32(32767));
    vstrhq_p_s32(to, bounded, lanes);
    if (left <= 4) return;
  }
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_ACTIVATION_KERNELS, mve_words)

}  // namespace cormorant::ops
