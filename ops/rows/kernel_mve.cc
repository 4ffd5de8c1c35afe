// SPDX-License-Identifier: Apache-2.0
#include <arm_mve.h>

#include "ops/rows/kernel.h"

namespace cormorant::ops {

// Eight channels at a time, in lanes of 16 bits, which hold up to 256 pixels; four at a time what is left.
template <>
void execute_rows_sum<Loops::mve>(const void* raw) {
  const auto& p = *static_cast<const rows::SumPlan*>(raw);
  const std::uint32_t channels = p.channels;
  std::uint32_t c = 0;
  if (p.pixels <= 256) {
    for (; c + 8 <= channels; c += 8) {
      const std::int8_t* from = p.input + c;
      int16x8_t row = vdupq_n_s16(0);
      for (std::uint32_t x = p.pixels; x != 0; --x, from += channels) row = vaddq_s16(row, vldrbq_s16(from));
      std::int32_t* sums = p.sums + c;
      // Even lanes and odd ones.
      const uint32x4_t even = {0, 8, 16, 24};
      const int32x4_t first = vldrwq_gather_offset_s32(sums, even), second = vldrwq_gather_offset_s32(sums + 1, even);
      vstrwq_scatter_offset_s32(sums, even, vaddq_s32(first, vmovlbq_s16(row)));
      vstrwq_scatter_offset_s32(sums + 1, even, vaddq_s32(second, vmovltq_s16(row)));
    }
  }
  for (; c < channels; c += 4) {
    const mve_pred16_t lanes = vctp32q(channels - c);
    const std::int8_t* from = p.input + c;
    int32x4_t sums = vldrwq_z_s32(p.sums + c, lanes);
    for (std::uint32_t x = p.pixels; x != 0; --x, from += channels) sums = vaddq_s32(sums, vldrbq_z_s32(from, lanes));
    vstrwq_p_s32(p.sums + c, sums, lanes);
  }
}

CORMORANT_KERNELS(CORMORANT_ROWS_KERNELS, mve)

}  // namespace cormorant::ops
