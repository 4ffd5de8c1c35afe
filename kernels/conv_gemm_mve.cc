// SPDX-License-Identifier: Apache-2.0
//
// The loop in which a quantized network on MVE spends most of its time. VMLADAVA multiplies 16 bytes and adds the
// products to a core register, even registers only: the eight that there are (r0 … r12 and lr) hold 4 channels × 2
// pixels, so that 6 loads serve 8 multiplications. A Cortex-M55 starts a multiplication every other cycle and anything
// else in between, so each step of 16 elements loads what the next one begins with: 16 cycles for 128 products.
// Likewise, while four channels are requantized, the next four's biases and first vectors are loaded. The odd registers
// hold the pointers; everything else is on the stack. gcc's code for the plain form below spills half of the
// accumulators in every step.
#include <arm_mve.h>

#include <cstddef>

#include "kernels/conv_gemm.h"
#include "kernels/frame.h"
#include "kernels/requantize_mve.h"

namespace cormorant::conv {

static_assert(offsetof(MveGemm, stream) == 0 && offsetof(MveGemm, patch0) == 4 && offsetof(MveGemm, patch1) == 8);
static_assert(offsetof(MveGemm, out0) == 12 && offsetof(MveGemm, out1) == 16 && offsetof(MveGemm, chunks) == 20);
static_assert(offsetof(MveGemm, blocks) == 24 && offsetof(MveGemm, pairs) == 28 && offsetof(MveGemm, in_step) == 32);
static_assert(offsetof(MveGemm, out_step) == 36 && offsetof(MveGemm, output.offset) == 40);
static_assert(offsetof(MveGemm, output.min) == 44 && offsetof(MveGemm, output.max) == 48);
static_assert(offsetof(MveGemm, output.rounding) == 52 && static_cast<int>(Rounding::right) == 1 &&
              static_cast<int>(Rounding::positive) == 2);

// Registers: r0 r2 r4 r6 sums of pixel 0, r8 r10 r12 lr sums of pixel 1; r1 r3 outputs (narrowing stores need low
// registers); r5 stream; r7 steps left; r9 r11 patches; q0 q1 patches, q3 q4 weights; q2 q3 results; q5 offset, q6 min,
// q7 max. Stack: 0 patch0, 4 patch1, 8 steps, 12 whether channels shift left, 16 out0 of the last block, 20 bytes of
// output except a block's, 24 stream, less what follows a block's multipliers, 28 pairs, 32 in_step, 36 bytes from the
// end of a pair's output to the next pair's.
//
// A block's steps except the last are in a loop of two, which an odd number enters in the middle. After each comes the
// first product of the next step, so that the loop's branch follows a multiplication.

// clang-format off
#define STEP(COUNT)                   \
  "vmladava.s8 r8, q1, q4\n"          \
  "vldrb.u8 q3, [r5, #16]!\n"          \
  "vmladava.s8 r2, q0, q3\n"          \
  "vldrb.u8 q4, [r5, #16]!\n"          \
  "vmladava.s8 r10, q1, q3\n"         \
  "vldrb.u8 q3, [r5, #16]!\n"          \
  "vmladava.s8 r4, q0, q4\n"          \
  COUNT                               \
  "vmladava.s8 r12, q1, q4\n"         \
  "vldrb.u8 q4, [r5, #16]!\n"          \
  "vmladava.s8 r6, q0, q3\n"          \
  "vldrb.u8 q0, [r9], #16\n"          \
  "vmladava.s8 lr, q1, q3\n"          \
  "vldrb.u8 q1, [r11], #16\n"         \
  "vmladava.s8 r0, q0, q4\n"

// `TAIL`: bytes of a record from its multipliers on. `REQUANTIZE` finds the first pixel's sums in q2, multipliers in q4
// and right shifts in q0, and loads the next record's biases; `REST` has its out-of-line parts.
#define GEMM(TAIL, REQUANTIZE, REST)  \
  CORMORANT_PUSH_R4_R11_LR            \
  CORMORANT_PUSH_D8_D15               \
  CORMORANT_RESERVE("44")             \
  "ldrd r9, r11, [r0, #4]\n" /* patch0, patch1 */\
  "strd r9, r11, [sp]\n"              \
  "ldrd r1, r3, [r0, #12]\n" /* out0, out1 */\
  "ldrd r2, r4, [r0, #20]\n" /* chunks, blocks */\
  "ands r6, r2, #1\n" /* steps except the last: half of them, rounded up, and whether they are odd */\
  "eor r6, r6, #1\n"                  \
  "bic r2, r2, #1\n"                  \
  "add r2, r2, r6\n"                  \
  "subs r4, r4, #1\n"                 \
  "lsls r4, r4, #2\n"                 \
  "ldrb r6, [r0, #52]\n"              \
  "cmp r6, #1\n"                      \
  "it ne\n"                           \
  "cmpne r6, #2\n"                    \
  "ite eq\n"                          \
  "moveq r6, #0\n"                    \
  "movne r6, #1\n"                    \
  "strd r2, r6, [sp, #8]\n"           \
  "adds r2, r1, r4\n"                 \
  "strd r2, r4, [sp, #16]\n"          \
  "ldr r5, [r0]\n"                    \
  "ldrd r2, r6, [r0, #28]\n" /* pairs, in_step */\
  "sub r7, r5, #" TAIL "\n"           \
  "strd r7, r2, [sp, #24]\n"          \
  "ldr r2, [r0, #36]\n" /* out_step */\
  "subs r2, r2, r4\n"                 \
  "subs r2, r2, #4\n"                 \
  "strd r6, r2, [sp, #32]\n"          \
  "ldrd r2, r4, [r0, #40]\n"          \
  "ldr r6, [r0, #48]\n"               \
  "vdup.32 q5, r2\n"                  \
  "vdup.32 q6, r4\n"                  \
  "vdup.32 q7, r6\n"                  \
  "ldm r5, {r0, r2, r4, r6}\n" /* four channels start from their biases */\
  "mov r8, r0\n"                      \
  "mov r10, r2\n"                     \
  "mov r12, r4\n"                     \
  "mov lr, r6\n"                      \
  "vldrb.u8 q4, [r5, #16]!\n"         \
  "b 43f\n"                           \
  ".p2align 2\n"                      \
  "10:\n"                             \
  STEP("")                            \
  "11:\n"                             \
  STEP("subs r7, r7, #1\n")           \
  "bne 10b\n"                         \
  "12:\n" /* the last step */         \
  "ldr r7, [sp, #16]\n"               \
  "vmladava.s8 r8, q1, q4\n"          \
  "vldrb.u8 q3, [r5, #16]!\n"         \
  "vmladava.s8 r2, q0, q3\n"          \
  "vldrb.u8 q4, [r5, #16]!\n"         \
  "vmladava.s8 r10, q1, q3\n"         \
  "vldrb.u8 q3, [r5, #16]!\n"         \
  "vmladava.s8 r4, q0, q4\n"          \
  "cmp r1, r7\n" /* equal: the pair's last block; nothing changes the flags until it is finished */\
  "vmladava.s8 r12, q1, q4\n"         \
  "vldrw.u32 q4, [r5, #16]!\n" /* multipliers */\
  "vmladava.s8 r6, q0, q3\n"          \
  "vldrb.s32 q0, [r5, #16]\n" /* right shifts */\
  "vmladava.s8 lr, q1, q3\n"          \
  "ldr r7, [sp, #12]\n"               \
  "vmov q2[2], q2[0], r0, r4\n"       \
  "vmov q2[3], q2[1], r2, r6\n"       \
  REQUANTIZE                          \
  "21:\n"                             \
  "vadd.i32 q2, q2, q5\n"             \
  "ldrd r9, r11, [sp]\n"              \
  "vadd.i32 q3, q3, q5\n"             \
  "vldrb.u8 q0, [r9], #16\n"          \
  "vmax.s32 q2, q2, q6\n"             \
  "vldrb.u8 q4, [r5, #" TAIL "+16]!\n"\
  "vmax.s32 q3, q3, q6\n"             \
  "mov r8, r0\n"                      \
  "mov r10, r2\n"                     \
  "vmin.s32 q2, q2, q7\n"             \
  "vldrb.u8 q1, [r11], #16\n"         \
  "vmin.s32 q3, q3, q7\n"             \
  "mov r12, r4\n"                     \
  "mov lr, r6\n"                      \
  "vstrb.32 q2, [r1], #4\n"           \
  "ldr r7, [sp, #8]\n"                \
  "beq 40f\n"                         \
  "vstrb.32 q3, [r3], #4\n"           \
  "22:\n"                             \
  "vmladava.s8 r0, q0, q4\n"          \
  "lsrs r7, r7, #1\n"                 \
  "bcs 11b\n"                         \
  "bne 10b\n"                         \
  "b 12b\n"                           \
  REST                                \
  "40:\n" /* the next two pixels */   \
  "ldr r7, [sp, #28]\n"               \
  "vstrb.32 q3, [r3], #4\n"           \
  "subs r7, r7, #1\n"                 \
  "beq 50f\n"                         \
  "str r7, [sp, #28]\n"               \
  "ldrd r7, r9, [sp, #32]\n"          \
  "add r1, r1, r9\n"                  \
  "add r3, r3, r9\n"                  \
  "ldr r9, [sp, #20]\n"               \
  "ldr r11, [sp, #4]\n"               \
  "add r9, r9, r1\n"                  \
  "str r9, [sp, #16]\n"               \
  "ldr r9, [sp]\n"                    \
  "add r11, r11, r7\n"                \
  "add r9, r9, r7\n"                  \
  "strd r9, r11, [sp]\n"              \
  "43:\n"                             \
  "vldrb.u8 q0, [r9], #16\n"          \
  "ldr r7, [sp, #8]\n"                \
  "vldrb.u8 q1, [r11], #16\n"         \
  "b 22b\n"                           \
  "50:\n"                             \
  CORMORANT_RELEASE("44")             \
  CORMORANT_POP_D8_D15                \
  "pop {r4-r11, pc}\n"

#define RIGHT                         \
  "cbnz r7, 20f\n"                    \
  "vqrdmulh.s32 q2, q2, q4\n"         \
  "it eq\n"                           \
  "ldreq r5, [sp, #24]\n"             \
  "vmov q3[2], q3[0], r8, r12\n"      \
  "vshr.s32 q1, q2, #31\n" /* negative numbers' ties round down */\
  "vmov q3[3], q3[1], r10, lr\n"      \
  "vadd.i32 q2, q2, q1\n"             \
  "vqrdmulh.s32 q3, q3, q4\n"         \
  "vrshl.s32 q2, q2, q0\n"            \
  "ldr r0, [r5, #24]\n"               \
  "vshr.s32 q1, q3, #31\n"            \
  "ldr r2, [r5, #28]\n"               \
  "vadd.i32 q3, q3, q1\n"             \
  "ldr r4, [r5, #32]\n"               \
  "vrshl.s32 q3, q3, q0\n"            \
  "ldr r6, [r5, #36]\n"
#define BOTH                          \
  "20:\n" /* shifts in both directions */\
  "vmov q3[2], q3[0], r8, r12\n"      \
  "vldrb.s32 q1, [r5, #20]\n"         \
  "vmov q3[3], q3[1], r10, lr\n"      \
  "vshl.s32 q2, q2, q1\n"             \
  "vshl.s32 q3, q3, q1\n"             \
  "vqrdmulh.s32 q2, q2, q4\n"         \
  "it eq\n"                           \
  "ldreq r5, [sp, #24]\n"             \
  "vqrdmulh.s32 q3, q3, q4\n"         \
  "ldr r0, [r5, #24]\n"               \
  "ldr r2, [r5, #28]\n"               \
  "ldr r4, [r5, #32]\n"               \
  "ldr r6, [r5, #36]\n"               \
  "vand q1, q2, q0\n"                 \
  "vshr.s32 q1, q1, #31\n"            \
  "vadd.i32 q2, q2, q1\n"             \
  "vand q1, q3, q0\n"                 \
  "vshr.s32 q1, q1, #31\n"            \
  "vadd.i32 q3, q3, q1\n"             \
  "vrshl.s32 q2, q2, q0\n"            \
  "vrshl.s32 q3, q3, q0\n"            \
  "b 21b\n"

// With a multiplier for each sign: q1 has those for sums below zero.
#define PRODUCTS                      \
  "vldrw.u32 q1, [r5, #24]\n"         \
  "vpte.s32 lt, q2, zr\n"             \
  "vqrdmulht.s32 q2, q2, q1\n"        \
  "vqrdmulhe.s32 q2, q2, q4\n"        \
  "it eq\n"                           \
  "ldreq r5, [sp, #24]\n"             \
  "vpte.s32 lt, q3, zr\n"             \
  "vqrdmulht.s32 q3, q3, q1\n"        \
  "vqrdmulhe.s32 q3, q3, q4\n"
#define RIGHT_prelu                   \
  "vmov q3[2], q3[0], r8, r12\n"      \
  "vmov q3[3], q3[1], r10, lr\n"      \
  "cbz r7, 19f\n"                     \
  "b 20f\n"                           \
  "19:\n"                             \
  PRODUCTS                            \
  "ldr r0, [r5, #40]\n"               \
  "vshr.s32 q1, q2, #31\n"            \
  "ldr r2, [r5, #44]\n"               \
  "vadd.i32 q2, q2, q1\n"             \
  "ldr r4, [r5, #48]\n"               \
  "vshr.s32 q4, q3, #31\n"            \
  "ldr r6, [r5, #52]\n"               \
  "vrshl.s32 q2, q2, q0\n"            \
  "vadd.i32 q3, q3, q4\n"             \
  "vrshl.s32 q3, q3, q0\n"
#define BOTH_prelu                    \
  "20:\n"                             \
  "vldrb.s32 q1, [r5, #20]\n"         \
  "vshl.s32 q2, q2, q1\n"             \
  "vshl.s32 q3, q3, q1\n"             \
  PRODUCTS                            \
  "vand q1, q2, q0\n"                 \
  "ldr r0, [r5, #40]\n"               \
  "vshr.s32 q1, q1, #31\n"            \
  "ldr r2, [r5, #44]\n"               \
  "vadd.i32 q2, q2, q1\n"             \
  "ldr r4, [r5, #48]\n"               \
  "vand q1, q3, q0\n"                 \
  "ldr r6, [r5, #52]\n"               \
  "vshr.s32 q1, q1, #31\n"            \
  "vrshl.s32 q2, q2, q0\n"            \
  "vadd.i32 q3, q3, q1\n"             \
  "vrshl.s32 q3, q3, q0\n"            \
  "b 21b\n"

extern "C" __attribute__((naked)) void cormorant_conv_gemm_mve(const MveGemm* /*gemm*/) {
  asm volatile(GEMM("24", RIGHT, BOTH));
}

extern "C" __attribute__((naked)) void cormorant_conv_gemm_prelu_mve(const MveGemm* /*gemm*/) {
  asm volatile(GEMM("40", RIGHT_prelu, BOTH_prelu));
}
// clang-format on

void conv_gemm_mve_plain(const MveGemm& gemm) {
  for (std::uint32_t pair = 0; pair < gemm.pairs; ++pair) {
    const std::int8_t* const patches[2] = {gemm.patch0 + pair * gemm.in_step, gemm.patch1 + pair * gemm.in_step};
    std::int8_t* const outs[2] = {gemm.out0 + pair * gemm.out_step, gemm.out1 + pair * gemm.out_step};
    const std::uint8_t* stream = gemm.stream;
    for (std::uint32_t block = 0; block < gemm.blocks; ++block) {
      const int32x4_t bias = vldrwq_s32(reinterpret_cast<const std::int32_t*>(stream));
      stream += 16;
      std::int32_t sums[2][4] = {};
      for (std::uint32_t chunk = 0; chunk < gemm.chunks; ++chunk) {
        for (int lane = 0; lane < 4; ++lane, stream += 16) {
          const int8x16_t w = vldrbq_s8(reinterpret_cast<const std::int8_t*>(stream));
          for (int pixel = 0; pixel < 2; ++pixel) {
            sums[pixel][lane] = vmladavaq_s8(sums[pixel][lane], vldrbq_s8(patches[pixel] + 16 * chunk), w);
          }
        }
      }
      const int32x4_t multiplier = vldrwq_s32(reinterpret_cast<const std::int32_t*>(stream));
      const int32x4_t right = vldrbq_s32(reinterpret_cast<const std::int8_t*>(stream + 16));
      const int32x4_t left = vldrbq_s32(reinterpret_cast<const std::int8_t*>(stream + 20));
      stream += 24;
      for (int pixel = 0; pixel < 2; ++pixel) {
        int32x4_t value = vaddq_s32(vldrwq_s32(sums[pixel]), bias);
        value = vaddq_n_s32(requantize_mve(value, multiplier, left, right), gemm.output.offset);
        value = vmaxq_s32(vminq_s32(value, vdupq_n_s32(gemm.output.max)), vdupq_n_s32(gemm.output.min));
        vstrbq_s32(outs[pixel] + 4 * block, value);
      }
    }
  }
}

}  // namespace cormorant::conv
