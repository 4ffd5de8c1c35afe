// SPDX-License-Identifier: Apache-2.0
//
// Eight channels at a time, tap by tap: VMULLB and VMULLT multiply the even and the odd lanes to 32 bits.
#include "kernels/conv_depthwise_words.h"
#include "kernels/frame.h"

namespace cormorant::conv {

// Registers: r0 pixel, r1 stream, r2 taps, r3 how many, r4 offset into the taps, r5 out, r6 end of the offsets, r7 tap,
// r8 min, r9 max; q0 q1 sums, q2 inputs, q3 weights, q4 q5 products, then factors.
// clang-format off
extern "C" __attribute__((naked)) void cormorant_depthwise_words_mve(const DepthwisePixel* /*pixel*/) {
  asm volatile(
      "push {r4-r9, lr}\n"
      CORMORANT_CFI("adjust_cfa_offset 28") CORMORANT_CFI_R4_R7("0")
      CORMORANT_CFI("rel_offset r8, 16") CORMORANT_CFI("rel_offset r9, 20") CORMORANT_CFI("rel_offset lr, 24")
      CORMORANT_RESERVE("4")
      "vpush {d8-d11}\n"
      CORMORANT_CFI("adjust_cfa_offset 32") CORMORANT_CFI("rel_offset d8, 0") CORMORANT_CFI("rel_offset d9, 8")
      CORMORANT_CFI("rel_offset d10, 16") CORMORANT_CFI("rel_offset d11, 24")
      "ldrd r1, r2, [r0]\n"
      "ldrd r3, r6, [r0, #8]\n"
      "ldr r5, [r0, #16]\n"
      "ldrd r8, r9, [r0, #24]\n"
      "ldr r4, [r0, #36]\n"
      "add r6, r6, r4\n"
      "1:\n"
      "vldrw.u32 q0, [r1], #16\n"
      "vldrw.u32 q1, [r1], #16\n"
      "mov r0, r2\n"
      "dls lr, r3\n"
      "2:\n"
      "ldr r7, [r0], #4\n"
      "add r7, r7, r4\n"
      "vldrb.s16 q3, [r1], #8\n"
      "vldrh.u16 q2, [r7]\n"
      "vmullb.s16 q4, q2, q3\n"
      "vmullt.s16 q5, q2, q3\n"
      "vadd.i32 q0, q0, q4\n"
      "vadd.i32 q1, q1, q5\n"
      "le lr, 2b\n"
      "vldrw.u32 q4, [r1], #16\n"
      "vrmulh.s32 q0, q0, q4\n"
      "vldrw.u32 q5, [r1], #16\n"
      "vrmulh.s32 q1, q1, q5\n"
      "vdup.16 q4, r8\n"
      "vqmovnb.s32 q2, q0\n"
      "vdup.16 q5, r9\n"
      "vqmovnt.s32 q2, q1\n"
      "adds r4, r4, #16\n"
      "vmax.s16 q2, q2, q4\n"
      "vmin.s16 q2, q2, q5\n"
      "vstrh.16 q2, [r5], #16\n"
      "cmp r4, r6\n"
      "blo 1b\n"
      "vpop {d8-d11}\n"
      CORMORANT_CFI("adjust_cfa_offset -32")
      CORMORANT_RELEASE("4")
      "pop {r4-r9, pc}\n");
}
// clang-format on

}  // namespace cormorant::conv
