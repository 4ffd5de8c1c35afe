// SPDX-License-Identifier: Apache-2.0
//
// Four channels at a time: SXTB16 splits a word of inputs and one of weights into halves, of which SMLABB and SMLATT
// multiply the lower and the upper ones. 11 instructions for 4 products; the accumulators are then requantized in
// place.
#include "kernels/conv_depthwise_plain.h"
#include "kernels/conv_depthwise_thumb2.h"

namespace cormorant::conv {

// clang-format off
#define TAP                           \
  "ldr r6, [r4], #4\n"                \
  "ldr r7, [r12], #4\n"               \
  "ldr r6, [r6, r11]\n"               \
  "sxtb16 r10, r7\n"                  \
  "sxtb16 r7, r7, ror #8\n"           \
  "sxtb16 r8, r6\n"                   \
  "sxtb16 r9, r6, ror #8\n"           \
  "smlabb r0, r8, r10, r0\n"          \
  "smlabb r1, r9, r7, r1\n"           \
  "smlatt r2, r8, r10, r2\n"          \
  "smlatt r3, r9, r7, r3\n"

// See conv_gemm_dsp.cc. Shifts by a register take its lowest byte: the next channel's comes by shifting all of them.
#define RESULT(sum, multiplier)       \
  "lsl " sum ", " sum ", #1\n"        \
  "smmulr " sum ", " sum ", " multiplier "\n" \
  "lsl r10, r4, r9\n"                 \
  "add " sum ", " sum ", " sum ", asr #31\n" \
  "add " sum ", " sum ", r10\n"       \
  "asr " sum ", " sum ", r9\n"        \
  "lsr r9, r9, #8\n"                  \
  "ssat " sum ", #8, " sum ", asr #1\n" \
  "strb " sum ", [lr], #1\n"

extern "C" __attribute__((naked)) void cormorant_depthwise_pixel_dsp(const DepthwisePixel* /*pixel*/) {
  asm volatile(CORMORANT_DEPTHWISE_PIXEL);
}
// clang-format on

void depthwise_pixel_plain_dsp(const DepthwisePixel& p, std::uint32_t first) { depthwise_pixel_plain(p, first); }

}  // namespace cormorant::conv
