// SPDX-License-Identifier: Apache-2.0
//
// Depthwise 3×3 on MVE. There is no multiply-accumulate over lanes, so the work is to keep sums narrow for as long as
// they fit: VMULLB/T multiply 16 bytes into 2 × 8 products of 16 bits, two of which can be added there (weights are not
// −128), and only pairs are widened to the 4 × 4 sums of 32 bits. Nine pointers walk along the window's taps in
// registers of their own, so that there is no address arithmetic. Per block of 16 channels: 91 instructions for 144
// products, 25 to requantize.
#include <cstddef>

#include "kernels/conv_depthwise.h"
#include "kernels/conv_depthwise_mve_asm.h"

namespace cormorant::conv {

static_assert(offsetof(MveDepthwise3x3, stream) == 0 && offsetof(MveDepthwise3x3, taps) == 4);
static_assert(offsetof(MveDepthwise3x3, out) == 40 && offsetof(MveDepthwise3x3, blocks) == 44);
static_assert(offsetof(MveDepthwise3x3, pixels) == 48 && offsetof(MveDepthwise3x3, tap_steps) == 52);
static_assert(offsetof(MveDepthwise3x3, out_step) == 64 && offsetof(MveDepthwise3x3, offset) == 68);
static_assert(offsetof(MveDepthwise3x3, min) == 72 && offsetof(MveDepthwise3x3, max) == 76);

// Registers: r0 stream (loads that widen want a low register); r1 … r9 taps; r10 out; r11 offset; r12 scratch; lr
// blocks left. Stack: 0 stream, 4 blocks, 8 pixels, 12 16 20 tap_steps, 24 out_step, 28 min, 32 max, 36 whether taps
// step.

// clang-format off
// Two taps. Four sums leave four registers, one too few: the second tap's input is loaded once for each half.
#define PAIR(a, b)                   \
  "vldrb.u8 q4, [" a "], #16\n"      \
  "vldrb.u8 q5, [r0], #16\n"         \
  "vmullb.s8 q6, q4, q5\n"           \
  "vldrb.u8 q7, [r0], #16\n"         \
  "vmullt.s8 q4, q4, q5\n"           \
  "vldrb.u8 q5, [" b "]\n"           \
  "vmullb.s8 q5, q5, q7\n"           \
  "vadd.i16 q6, q6, q5\n"            \
  "vldrb.u8 q5, [" b "], #16\n"      \
  "vmullt.s8 q5, q5, q7\n"           \
  "vadd.i16 q4, q4, q5\n"            \
  WIDEN("q6", "q4", "q5")

// The first two taps, before there are sums.
#define FIRST_PAIR                   \
  "vldrb.u8 q4, [r1], #16\n"         \
  "vldrb.u8 q0, [r0, #64]\n"         \
  "vmullb.s8 q6, q4, q0\n"           \
  "vldrb.u8 q5, [r2], #16\n"         \
  "vmullt.s8 q4, q4, q0\n"           \
  "vldrb.u8 q1, [r0, #80]\n"         \
  "vmullb.s8 q7, q5, q1\n"           \
  "vldrw.u32 q0, [r0], #16\n"        \
  "vmullt.s8 q5, q5, q1\n"           \
  "vldrw.u32 q1, [r0], #16\n"        \
  "vadd.i16 q6, q6, q7\n"            \
  "vldrw.u32 q2, [r0], #16\n"        \
  "vadd.i16 q4, q4, q5\n"            \
  "vldrw.u32 q3, [r0], #48\n"        \
  WIDEN("q6", "q4", "q5")

#define LAST(a)                      \
  "vldrb.u8 q4, [" a "], #16\n"      \
  "vldrb.u8 q5, [r0], #16\n"         \
  "vmullb.s8 q6, q4, q5\n"           \
  "vmullt.s8 q4, q4, q5\n"           \
  WIDEN("q6", "q4", "q5")

#define ROW(REQUANTIZE, AND_CLAMP)   \
  "push {r4-r11, lr}\n"              \
  "vpush {d8-d15}\n"                 \
  "sub sp, sp, #44\n"                \
  "ldr r1, [r0]\n"                   \
  "ldrd r2, r3, [r0, #44]\n"         \
  "strd r1, r2, [sp]\n"              \
  "str r3, [sp, #8]\n"               \
  "ldrd r1, r2, [r0, #52]\n"         \
  "strd r1, r2, [sp, #12]\n"         \
  "ldrd r3, r4, [r0, #60]\n"         \
  "strd r3, r4, [sp, #20]\n"         \
  "orr r1, r1, r2\n"                 \
  "orr r1, r1, r3\n"                 \
  "str r1, [sp, #36]\n"              \
  "ldrd r1, r2, [r0, #72]\n"         \
  "strd r1, r2, [sp, #28]\n"         \
  "ldr r11, [r0, #68]\n"             \
  "adds r0, r0, #4\n"                \
  "ldm r0, {r1-r10}\n"               \
  "1:\n"                             \
  "ldrd r0, lr, [sp]\n"              \
  "2:\n"                             \
  FIRST_PAIR                         \
  PAIR("r3", "r4")                   \
  PAIR("r5", "r6")                   \
  PAIR("r7", "r8")                   \
  LAST("r9")                         \
  REQUANTIZE                         \
  NARROW                             \
  AND_CLAMP                          \
  "vstrb.8 q6, [r10], #16\n"         \
  "le lr, 2b\n"                      \
  "ldr r12, [sp, #8]\n"              \
  "subs r12, r12, #1\n"              \
  "beq 3f\n"                         \
  "str r12, [sp, #8]\n"              \
  "ldrd r12, lr, [sp, #20]\n"        \
  "add r10, r10, lr\n"               \
  "ldr lr, [sp, #36]\n"              \
  "cmp lr, #0\n"                     \
  "beq 1b\n"                         \
  "add r7, r7, r12\n"                \
  "add r8, r8, r12\n"                \
  "add r9, r9, r12\n"                \
  "ldrd r12, lr, [sp, #12]\n"        \
  "add r1, r1, r12\n"                \
  "add r2, r2, r12\n"                \
  "add r3, r3, r12\n"                \
  "add r4, r4, lr\n"                 \
  "add r5, r5, lr\n"                 \
  "add r6, r6, lr\n"                 \
  "b 1b\n"                           \
  "3:\n"                             \
  "add sp, sp, #44\n"                \
  "vpop {d8-d15}\n"                  \
  "pop {r4-r11, pc}\n"

extern "C" __attribute__((naked)) void cormorant_depthwise_3x3_positive_mve(const MveDepthwise3x3* /*row*/) {
  asm volatile(ROW(REQUANTIZE_POSITIVE, ""));
}

extern "C" __attribute__((naked)) void cormorant_depthwise_3x3_right_mve(const MveDepthwise3x3* /*row*/) {
  asm volatile(ROW(REQUANTIZE_RIGHT, CLAMP("28", "32")));
}

extern "C" __attribute__((naked)) void cormorant_depthwise_3x3_general_mve(const MveDepthwise3x3* /*row*/) {
  asm volatile(ROW(REQUANTIZE_GENERAL, CLAMP("28", "32")));
}
// clang-format on

}  // namespace cormorant::conv
