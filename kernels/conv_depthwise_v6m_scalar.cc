// SPDX-License-Identifier: Apache-2.0
//
// ARMv6-M: LDRSB needs its offset in a register, so 0, 1 and 2 stay in registers and serve inputs and weights alike.
// The sums are in r8 … r11. 21 instructions for 4 products.
#include "kernels/conv_depthwise.h"
#include "kernels/frame.h"
#include "kernels/requantize_v6m.h"

namespace cormorant::conv {

// Registers: r0 input, r1 r2 factors, r3 stream, r4 taps, r5 r6 r7 0 1 2, r8 … r11 sums, r12 shift and channel, lr end
// of the taps. Stack: 0 taps, 4 end of taps, 8 the end of r12, 12 2 · offset + 1, 16 out, 20 multipliers and shifts.

// clang-format off
#define PRODUCT(index, sum)           \
  "ldrsb r1, [r0, " index "]\n"       \
  "ldrsb r2, [r3, " index "]\n"       \
  "muls r1, r2, r1\n"                 \
  "add " sum ", " sum ", r1\n"

// The channel's parameters from the stream; its multiplier in r5.
#define PARAMETERS(lane)              \
  "ldr r3, [sp, #20]\n"               \
  "ldr r5, [r3, #4*" lane "]\n"       \
  "movs r7, #16+" lane "\n"           \
  "ldrsb r7, [r3, r7]\n"              \
  "mvns r1, r7\n"                     \
  "rsbs r7, r7, #0\n"                 \
  "ldr r6, [sp, #12]\n"               \
  "lsls r6, r6, r1\n"
#define STORE(lane)                   \
  "ldr r1, [sp, #16]\n"               \
  "strb r0, [r1, #" lane "]\n"
#define RESULT_small(sum, lane) PARAMETERS(lane) CORMORANT_PIECES_V6M CORMORANT_REQUANTIZE_SMALL_V6M(sum) STORE(lane)

// The same with the offset alone in r6. Above the shift to the left is the block's mark.
#define PARAMETERS_any(lane)          \
  "ldr r3, [sp, #20]\n"               \
  "ldr r5, [r3, #4*" lane "]\n"       \
  "movs r7, #16+" lane "\n"           \
  "ldrsb r7, [r3, r7]\n"              \
  "rsbs r7, r7, #0\n"                 \
  "ldr r6, [sp, #12]\n"               \
  "asrs r6, r6, #1\n"
#define SHIFT_LEFT(lane)              \
  "ldrb r1, [r3, #20+" lane "]\n"     \
  "lsls r1, r1, #27\n"                \
  "lsrs r1, r1, #27\n"                \
  "lsls r0, r0, r1\n"
#define HALVES                        \
  "lsrs r4, r5, #16\n"                \
  "uxth r5, r5\n"
#define RESULT_any(sum, lane) PARAMETERS_any(lane) HALVES CORMORANT_REQUANTIZE_ANY_V6M(sum, SHIFT_LEFT(lane)) STORE(lane)

// With slopes: sums below zero have other multipliers, which follow the shifts.
#define SHIFT_LEFT_prelu(lane) SHIFT_LEFT(lane) CORMORANT_MULTIPLIER_V6M("20", "4*" lane, "24+4*" lane)
#define RESULT_prelu(sum, lane) \
  PARAMETERS_any(lane) CORMORANT_REQUANTIZE_ANY_V6M(sum, SHIFT_LEFT_prelu(lane)) STORE(lane)

// `parameters` bytes follow a block's weights.
#define DEPTHWISE(RESULT, parameters) \
  ".syntax unified\n"                 \
  CORMORANT_PUSH_R4_R11_LR_V6M        \
  CORMORANT_RESERVE("28")             \
  "ldmia r0!, {r3-r7}\n" /* stream, taps, tap_count, channels, out */\
  "str r4, [sp]\n"                    \
  "lsls r5, r5, #2\n"                 \
  "adds r5, r5, r4\n"                 \
  "str r5, [sp, #4]\n"                \
  "lsrs r6, r6, #2\n"                 \
  "lsls r6, r6, #2\n"                 \
  "ldr r5, [r0, #16]\n" /* shift */   \
  "mov r12, r5\n"                     \
  "adds r6, r6, r5\n"                 \
  "str r6, [sp, #8]\n"                \
  "str r7, [sp, #16]\n"               \
  "ldr r7, [r0]\n" /* offset */       \
  "lsls r7, r7, #1\n"                 \
  "adds r7, r7, #1\n"                 \
  "str r7, [sp, #12]\n"               \
  \
  "1:\n"                              \
  "ldmia r3!, {r4-r7}\n" /* biases */ \
  "mov r8, r4\n"                      \
  "mov r9, r5\n"                      \
  "mov r10, r6\n"                     \
  "mov r11, r7\n"                     \
  "ldr r4, [sp, #4]\n"                \
  "mov lr, r4\n"                      \
  "ldr r4, [sp]\n"                    \
  "movs r5, #0\n"                     \
  "movs r6, #1\n"                     \
  "movs r7, #2\n"                     \
  "2:\n"                              \
  "ldmia r4!, {r0}\n"                 \
  "add r0, r0, r12\n"                 \
  PRODUCT("r5", "r8")                 \
  PRODUCT("r6", "r9")                 \
  PRODUCT("r7", "r10")                \
  "adds r0, r0, #3\n"                 \
  "adds r3, r3, #3\n"                 \
  PRODUCT("r5", "r11")                \
  "adds r3, r3, #1\n"                 \
  "cmp r4, lr\n"                      \
  "bne 2b\n"                          \
  \
  "str r3, [sp, #20]\n"               \
  RESULT("r8", "0") RESULT("r9", "1") RESULT("r10", "2") RESULT("r11", "3")\
  "adds r1, r1, #4\n"                 \
  "str r1, [sp, #16]\n"               \
  "ldr r3, [sp, #20]\n"               \
  "adds r3, r3, #" parameters "\n"    \
  "movs r0, #4\n"                     \
  "add r12, r12, r0\n"                \
  "ldr r0, [sp, #8]\n"                \
  "cmp r12, r0\n"                     \
  "beq 4f\n"                          \
  "b 1b\n"                            \
  "4:\n"                              \
  CORMORANT_RELEASE("28")             \
  CORMORANT_POP_R4_R11_PC_V6M

extern "C" __attribute__((naked)) void cormorant_depthwise_pixel_small_v6m(const DepthwisePixel* /*pixel*/) {
  asm volatile(DEPTHWISE(RESULT_small, "24"));
}

extern "C" __attribute__((naked)) void cormorant_depthwise_pixel_any_v6m(const DepthwisePixel* /*pixel*/) {
  asm volatile(DEPTHWISE(RESULT_any, "24"));
}

extern "C" __attribute__((naked)) void cormorant_depthwise_pixel_prelu_v6m(const DepthwisePixel* /*pixel*/) {
  asm volatile(DEPTHWISE(RESULT_prelu, "40"));
}
// clang-format on

}  // namespace cormorant::conv
