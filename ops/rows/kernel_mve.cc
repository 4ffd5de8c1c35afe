// SPDX-License-Identifier: Apache-2.0
#include <arm_mve.h>

#include "ops/rows/kernel.h"

namespace cormorant::ops {

// Slabs are shifted by a row before each row is written; that is what computing by rows costs besides the kernels. Four
// vectors at a time, all of which are read before one is written, which may overlap them.
template <>
void rows::copy<Loops::mve>(std::byte* to, const std::byte* from, std::uint32_t bytes) {
  const std::uint32_t blocks = bytes / 64;
  asm volatile(
      "wls lr, %[blocks], 2f\n"
      "1:\n"
      "vldrb.u8 q0, [%[from]], #16\n"
      "vldrb.u8 q1, [%[from]], #16\n"
      "vldrb.u8 q2, [%[from]], #16\n"
      "vldrb.u8 q3, [%[from]], #16\n"
      "vstrb.8 q0, [%[to]], #16\n"
      "vstrb.8 q1, [%[to]], #16\n"
      "vstrb.8 q2, [%[to]], #16\n"
      "vstrb.8 q3, [%[to]], #16\n"
      "le lr, 1b\n"
      "2:\n"
      : [to] "+&r"(to), [from] "+&r"(from)
      : [blocks] "r"(blocks)
      : "q0", "q1", "q2", "q3", "lr", "memory");
  const std::uint32_t rest = bytes % 64;
  if (rest == 0) return;
  copy_bytes_mve(reinterpret_cast<std::int8_t*>(to), reinterpret_cast<const std::int8_t*>(from), rest);
}

// Eight channels at a time, in 16-bit lanes, which hold up to 256 pixels; the rest four at a time.
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
