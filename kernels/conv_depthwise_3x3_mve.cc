// SPDX-License-Identifier: Apache-2.0
//
// Depthwise 3×3 on MVE. There is no multiply-accumulate over lanes, so the point is to keep sums narrow for as long as
// they fit: VMULLB/T multiply 16 bytes into 2 × 8 products of 16 bits, two of which can be added in 16 bits (weights
// are not −128), and only pairs are widened to the 4 × 4 sums of 32 bits. Nine pointers walk along the window's taps in
// registers of their own, so there is no address arithmetic.
//
// A Cortex-M55 starts an addition every other cycle, and something else in between. So the eight products of VMULLB and
// the eight of VMULLT for a pair of taps are computed in turn, each while the previous ones are widened. That takes two
// registers for each, and loads inputs and weights twice: 11 cycles for 16 products. Loading each input and weight once
// and widening after the products was 15 instructions shorter and 30 cycles longer.
#include <cstddef>

#include "kernels/conv_depthwise.h"
#include "kernels/conv_depthwise_mve_asm.h"
#include "kernels/frame.h"

namespace cormorant::conv {

static_assert(offsetof(MveDepthwise3x3, stream) == 0 && offsetof(MveDepthwise3x3, taps) == 4);
static_assert(offsetof(MveDepthwise3x3, out) == 40 && offsetof(MveDepthwise3x3, blocks) == 44);
static_assert(offsetof(MveDepthwise3x3, pixels) == 48 && offsetof(MveDepthwise3x3, tap_steps) == 52);
static_assert(offsetof(MveDepthwise3x3, out_step) == 64 && offsetof(MveDepthwise3x3, offset) == 68);
static_assert(offsetof(MveDepthwise3x3, min) == 72 && offsetof(MveDepthwise3x3, max) == 76);
static_assert(offsetof(MveDepthwise3x3, requantize) == 80);
static_assert(static_cast<int>(MveRequantize::general) == 0 && static_cast<int>(MveRequantize::positive) == 1);

// Registers: r0 stream; r1 … r9 taps; r10 out; r11 offset; r12 scratch; lr blocks left; q0 … q3 sums. Throughout a
// pixel the flags hold the comparison of `requantize` with `positive`. Stack: 0 stream, less 20, 4 blocks, 8 pixels, 12
// 16 20 tap_steps, 24 out_step, 28 whether taps step, 32 min and 48 max, 16 times each, 64 `requantize`.

// clang-format off
// `v` and `t` hold products of two taps, to be added and widened to s0 and s1. Meanwhile the next two taps are
// multiplied in `n`, which holds the first one's inputs, and `m`; then `v` takes the inputs for the taps after those.
#define HALF(v, t, n, m, s0, s1, half, w0, x1, w1, x0) \
  "vadd.i16 " v ", " v ", " t "\n"         \
  "vldrb.u8 " m ", " w0 "\n"               \
  "vmovlb.s16 " t ", " v "\n"              \
  "vmull" half ".s8 " n ", " n ", " m "\n" \
  "vadd.i32 " s0 ", " s0 ", " t "\n"       \
  "vldrb.u8 " m ", " x1 "\n"               \
  "vmovlt.s16 " v ", " v "\n"              \
  "vldrb.u8 " t ", " w1 "\n"               \
  "vadd.i32 " s1 ", " s1 ", " v "\n"       \
  "vmull" half ".s8 " m ", " m ", " t "\n" \
  "vldrb.u8 " v ", " x0 "\n"
#define EVEN(half, w0, x1, w1, x0) HALF("q4", "q5", "q6", "q7", "q0", "q1", half, w0, x1, w1, x0)
#define ODD(half, w0, x1, w1, x0) HALF("q6", "q7", "q4", "q5", "q2", "q3", half, w0, x1, w1, x0)

extern "C" __attribute__((naked)) void cormorant_depthwise_3x3_mve(const MveDepthwise3x3* /*line*/) {
  asm volatile(
      CORMORANT_PUSH_R4_R11_LR
      CORMORANT_PUSH_D8_D15
      CORMORANT_RESERVE("68")
      "ldr r1, [r0]\n"
      "subs r1, r1, #20\n"
      "ldrd r2, r3, [r0, #44]\n"
      "strd r1, r2, [sp]\n"
      "str r3, [sp, #8]\n"
      "ldrd r1, r2, [r0, #52]\n"
      "strd r1, r2, [sp, #12]\n"
      "ldrd r3, r4, [r0, #60]\n"
      "strd r3, r4, [sp, #20]\n"
      "orrs r1, r1, r2\n"
      "orrs r1, r1, r3\n"
      "str r1, [sp, #28]\n"
      "ldrd r1, r2, [r0, #72]\n"
      "vdup.8 q0, r1\n"
      "vdup.8 q1, r2\n"
      "vstrb.8 q0, [sp, #32]\n"
      "vstrb.8 q1, [sp, #48]\n"
      "ldr r1, [r0, #80]\n"
      "str r1, [sp, #64]\n"
      "ldr r11, [r0, #68]\n"
      "adds r0, r0, #4\n"
      "ldm r0, {r1-r10}\n"
      "1:\n"
      "ldr r12, [sp, #64]\n"
      "ldrd r0, lr, [sp]\n"
      "cmp r12, #1\n"
      "2:\n"
      "vldrb.u8 q4, [r1]\n"
      "vldrb.u8 q5, [r0, #84]!\n"      // the first tap's weights, past the parameters of the previous block
      "vmullb.s8 q4, q4, q5\n"
      "vldrb.u8 q5, [r2]\n"
      "vldrb.u8 q7, [r0, #16]\n"
      "vmullb.s8 q5, q5, q7\n"
      "vldrb.u8 q6, [r1], #16\n"
      "vldrw.u32 q0, [r0, #-64]\n"
      "vldrw.u32 q1, [r0, #-48]\n"
      EVEN("t", "[r0]", "[r2], #16", "[r0, #16]!", "[r3]")
      "vldrw.u32 q2, [r0, #-48]\n"
      "vldrw.u32 q3, [r0, #-32]\n"
      ODD("b", "[r0, #16]", "[r4]", "[r0, #32]", "[r3], #16")
      EVEN("t", "[r0, #16]", "[r4], #16", "[r0, #32]", "[r5]")
      ODD("b", "[r0, #48]", "[r6]", "[r0, #64]", "[r5], #16")
      EVEN("t", "[r0, #48]", "[r6], #16", "[r0, #64]", "[r7]")
      ODD("b", "[r0, #80]", "[r8]", "[r0, #96]", "[r7], #16")
      EVEN("t", "[r0, #80]", "[r8], #16", "[r0, #96]", "[r9]")
      "vadd.i16 q6, q6, q7\n"
      "vldrb.u8 q5, [r0, #112]\n"
      "vmovlb.s16 q7, q6\n"
      "vmullb.s8 q4, q4, q5\n"
      "vadd.i32 q2, q2, q7\n"
      "vmovlt.s16 q6, q6\n"
      "vadd.i32 q3, q3, q6\n"
      "vldrb.u8 q6, [r9], #16\n"
      "vmovlb.s16 q7, q4\n"
      "vmullt.s8 q6, q6, q5\n"
      "bmi 4f\n"
      "vadd.i32 q0, q0, q7\n"
      "vldrw.u32 q5, [r0, #128]!\n"    // the other multipliers and the right shifts follow
      "vmovlt.s16 q4, q4\n"
      "vqrdmulh.s32 q0, q0, q5\n"
      "vadd.i32 q1, q1, q4\n"
      "vldrw.u32 q5, [r0, #16]\n"
      "vmovlb.s16 q7, q6\n"
      "vqrdmulh.s32 q1, q1, q5\n"
      "vadd.i32 q2, q2, q7\n"
      "vldrw.u32 q4, [r0, #32]\n"
      "vmovlt.s16 q6, q6\n"
      "vqrdmulh.s32 q2, q2, q4\n"
      "vadd.i32 q3, q3, q6\n"
      "vldrw.u32 q5, [r0, #48]\n"
      "vqrdmulh.s32 q3, q3, q5\n"
      "beq 5f\n"
      "vshr.s32 q4, q0, #31\n"         // negative numbers' ties round down
      "vshr.s32 q5, q1, #31\n"
      "vshr.s32 q6, q2, #31\n"
      "vshr.s32 q7, q3, #31\n"
      "vadd.i32 q0, q0, q4\n"
      "vadd.i32 q1, q1, q5\n"
      "vadd.i32 q2, q2, q6\n"
      "vadd.i32 q3, q3, q7\n"
      "5:\n"
      "vldrb.s32 q4, [r0, #64]\n"
      "vrshl.s32 q0, q0, q4\n"
      "vldrb.s32 q6, [r0, #72]\n"
      "vrshl.s32 q2, q2, q6\n"
      "vldrb.s32 q5, [r0, #68]\n"
      "vrshl.s32 q1, q1, q5\n"
      "vldrb.s32 q7, [r0, #76]!\n"
      "vrshl.s32 q3, q3, q7\n"
      "6:\n"
      "vqmovnb.s32 q4, q0\n"
      "vqmovnb.s32 q5, q2\n"
      "vqmovnt.s32 q4, q1\n"
      "vqmovnt.s32 q5, q3\n"
      "vqadd.s16 q4, q4, r11\n"
      "vqadd.s16 q5, q5, r11\n"
      "vqmovnb.s16 q6, q4\n"
      "vqmovnt.s16 q6, q5\n"
      "beq 7f\n"
      "vldrb.u8 q4, [sp, #32]\n"
      "vmax.s8 q6, q6, q4\n"
      "vldrb.u8 q5, [sp, #48]\n"
      "vmin.s8 q6, q6, q5\n"
      "7:\n"
      "vstrb.8 q6, [r10], #16\n"
      "le lr, 2b\n"
      "ldr r12, [sp, #8]\n"
      "subs r12, r12, #1\n"
      "beq 3f\n"
      "str r12, [sp, #8]\n"
      "ldrd r12, lr, [sp, #20]\n"
      "add r10, r10, lr\n"
      "ldr lr, [sp, #28]\n"
      "cmp lr, #0\n"
      "beq 1b\n"
      "add r7, r7, r12\n"
      "add r8, r8, r12\n"
      "add r9, r9, r12\n"
      "ldrd r12, lr, [sp, #12]\n"
      "add r1, r1, r12\n"
      "add r2, r2, r12\n"
      "add r3, r3, r12\n"
      "add r4, r4, lr\n"
      "add r5, r5, lr\n"
      "add r6, r6, lr\n"
      "b 1b\n"

      "4:\n"                           // shifts in both directions
      "vmovlt.s16 q4, q4\n"
      "vadd.i32 q0, q0, q7\n"
      "vadd.i32 q1, q1, q4\n"
      "vmovlb.s16 q7, q6\n"
      "vmovlt.s16 q6, q6\n"
      "vadd.i32 q2, q2, q7\n"
      "vadd.i32 q3, q3, q6\n"
      "add r0, r0, #128\n"
      REQUANTIZE_GENERAL
      "sub r0, r0, #20\n"
      "b 6b\n"

      "3:\n"
      CORMORANT_RELEASE("68")
      CORMORANT_POP_D8_D15
      "pop {r4-r11, pc}\n");
}
// clang-format on

}  // namespace cormorant::conv
