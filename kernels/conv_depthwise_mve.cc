// SPDX-License-Identifier: Apache-2.0
#include <arm_mve.h>

#include "kernels/conv_depthwise.h"
#include "kernels/requantize_mve.h"

namespace cormorant::conv {
namespace {

// Sixteen sums; even channels first, as VMULLB/T and VMOVLB/T split them.
struct Sums {
  int32x4_t part[4];

  void add(int16x8_t even, int16x8_t odd) {
    part[0] = vaddq_s32(part[0], vmovlbq_s16(even));
    part[1] = vaddq_s32(part[1], vmovltq_s16(even));
    part[2] = vaddq_s32(part[2], vmovlbq_s16(odd));
    part[3] = vaddq_s32(part[3], vmovltq_s16(odd));
  }
};

}  // namespace

void depthwise_pixel_mve(const DepthwisePixel& p) {
  const auto* stream = reinterpret_cast<const std::int8_t*>(p.stream);
  for (std::uint32_t channel = 0; channel < p.channels; channel += 16) {
    const mve_pred16_t lanes = vctp8q(p.channels - channel);
    Sums sums;
    for (int i = 0; i < 4; ++i) sums.part[i] = vldrwq_s32(reinterpret_cast<const std::int32_t*>(stream) + 4 * i);
    stream += 64;
    std::uint32_t tap = 0;
    for (; tap + 2 <= p.tap_count; tap += 2, stream += 32) {
      const int8x16_t x0 = vldrbq_z_s8(p.taps[tap] + channel, lanes);
      const int8x16_t x1 = vldrbq_z_s8(p.taps[tap + 1] + channel, lanes);
      const int8x16_t w0 = vldrbq_s8(stream);
      const int8x16_t w1 = vldrbq_s8(stream + 16);
      sums.add(vaddq_s16(vmullbq_int_s8(x0, w0), vmullbq_int_s8(x1, w1)),
               vaddq_s16(vmulltq_int_s8(x0, w0), vmulltq_int_s8(x1, w1)));
    }
    if (tap < p.tap_count) {
      const int8x16_t x = vldrbq_z_s8(p.taps[tap] + channel, lanes);
      const int8x16_t w = vldrbq_s8(stream);
      sums.add(vmullbq_int_s8(x, w), vmulltq_int_s8(x, w));
      stream += 16;
    }
    for (int i = 0; i < 4; ++i) {
      const int32x4_t multiplier = vldrwq_s32(reinterpret_cast<const std::int32_t*>(stream) + 4 * i);
      const int32x4_t right = vldrbq_s32(stream + 64 + 4 * i);
      const int32x4_t left = vldrbq_s32(stream + 80 + 4 * i);
      sums.part[i] = vaddq_n_s32(requantize_mve(sums.part[i], multiplier, left, right), p.output.offset);
      sums.part[i] = vmaxq_s32(vminq_s32(sums.part[i], vdupq_n_s32(p.output.max)), vdupq_n_s32(p.output.min));
    }
    stream += 96;
    int16x8_t even = vdupq_n_s16(0);
    int16x8_t odd = vdupq_n_s16(0);
    even = vmovntq_s32(vmovnbq_s32(even, sums.part[0]), sums.part[1]);
    odd = vmovntq_s32(vmovnbq_s32(odd, sums.part[2]), sums.part[3]);
    const int8x16_t bytes = vmovntq_s16(vmovnbq_s16(vdupq_n_s8(0), even), odd);
    vstrbq_p_s8(p.out + channel, bytes, lanes);
  }
}

}  // namespace cormorant::conv
