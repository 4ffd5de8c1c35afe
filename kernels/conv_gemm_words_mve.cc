// SPDX-License-Identifier: Apache-2.0
//
// The loop of conv_gemm_mve.cc for 16-bit elements: loads widen the weights, so a step of 14 instructions is 8 elements
// of 4 channels × 2 pixels. VRMULH and the clamp follow the sums.
#include <arm_mve.h>

#include <cstddef>

#include "kernels/conv_gemm_words.h"
#include "kernels/frame.h"

namespace cormorant::conv {

static_assert(offsetof(MveGemm, stream) == 0 && offsetof(MveGemm, patch0) == 4 && offsetof(MveGemm, patch1) == 8);
static_assert(offsetof(MveGemm, out0) == 12 && offsetof(MveGemm, out1) == 16 && offsetof(MveGemm, chunks) == 20);
static_assert(offsetof(MveGemm, blocks) == 24 && offsetof(MveGemm, pairs) == 28 && offsetof(MveGemm, in_step) == 32);
static_assert(offsetof(MveGemm, out_step) == 36 && offsetof(MveGemm, output.min) == 44 &&
              offsetof(MveGemm, output.max) == 48);

// Registers: r0 r2 r4 r6 sums of pixel 0, r8 r10 r12 lr sums of pixel 1; r1 r3 outputs and r5 stream (narrowing stores
// and widening loads need low registers); r7 steps left; r9 r11 patches; q0 q1 patches, q2 q3 q4 weights; q6 min, q7
// max. Stack: 0 patch0, 4 patch1, 8 rounds of four steps, 12 minus the steps, 16 end of out0, 24 stream, 28 pairs, 32
// in_step, 36 bytes from the end of a pair's output to the next pair's, 40 bytes of output.

// clang-format off
#define STEP                          \
  "vldrh.u16 q0, [r9], #16\n"         \
  "vldrb.s16 q2, [r5], #8\n"          \
  "vmladava.s16 r0, q0, q2\n"         \
  "vldrh.u16 q1, [r11], #16\n"        \
  "vmladava.s16 r8, q1, q2\n"         \
  "vldrb.s16 q3, [r5], #8\n"          \
  "vmladava.s16 r2, q0, q3\n"         \
  "vldrb.s16 q4, [r5], #8\n"          \
  "vmladava.s16 r10, q1, q3\n"        \
  "vldrb.s16 q2, [r5], #8\n"          \
  "vmladava.s16 r4, q0, q4\n"         \
  "vmladava.s16 r12, q1, q4\n"        \
  "vmladava.s16 r6, q0, q2\n"         \
  "vmladava.s16 lr, q1, q2\n"

extern "C" __attribute__((naked)) void cormorant_conv_gemm_words_mve(const MveGemm* /*gemm*/) {
  asm volatile(
      CORMORANT_PUSH_R4_R11_LR
      CORMORANT_PUSH_D8_D15
      CORMORANT_RESERVE("48")
      "ldrd r5, r9, [r0]\n"            // stream, patch0
      "ldrd r11, r1, [r0, #8]\n"       // patch1, out0
      "ldrd r3, r2, [r0, #16]\n"       // out1, chunks
      "ldrd r4, r6, [r0, #24]\n"       // blocks, pairs
      "ldrd r8, r10, [r0, #32]\n"      // in_step, out_step
      "strd r9, r11, [sp]\n"
      "adds r12, r2, #3\n"
      "lsrs r12, r12, #2\n"
      "str r12, [sp, #8]\n"
      "rsbs r2, r2, #0\n"              // steps of the first round to skip
      "str r2, [sp, #12]\n"
      "lsls r4, r4, #3\n"
      "add r12, r1, r4\n"
      "str r12, [sp, #16]\n"
      "sub r12, r10, r4\n"
      "str r8, [sp, #32]\n"
      "str r12, [sp, #36]\n"
      "str r4, [sp, #40]\n"
      "strd r5, r6, [sp, #24]\n"
      "ldrd r4, r6, [r0, #44]\n"
      "vdup.32 q6, r4\n"
      "vdup.32 q7, r6\n"
      "b 10f\n"

      ".p2align 2\n"
      "10:\n"                          // four channels: start from the biases
      "ldrd r7, r0, [sp, #8]\n"
      "lsls r0, r0, #31\n"
      "ldm r5, {r0, r2, r4, r6}\n"
      "ldrd r9, r11, [sp]\n"
      "ldm r5!, {r8, r10, r12, lr}\n"
      "bcs 15f\n"
      "bmi 12f\n"
      "11:\n"
      STEP
      "12:\n"
      STEP
      "13:\n"
      STEP
      "14:\n"
      STEP
      "subs r7, r7, #1\n"
      "bne 11b\n"

      "vmov q0[2], q0[0], r0, r4\n"
      "vmov q0[3], q0[1], r2, r6\n"
      "vmov q1[2], q1[0], r8, r12\n"
      "vmov q1[3], q1[1], r10, lr\n"
      "vldrw.u32 q2, [r5], #16\n"
      "vrmulh.s32 q0, q0, q2\n"
      "vrmulh.s32 q1, q1, q2\n"
      "vmax.s32 q0, q0, q6\n"
      "vmax.s32 q1, q1, q6\n"
      "vmin.s32 q0, q0, q7\n"
      "vmin.s32 q1, q1, q7\n"
      "ldr r0, [sp, #16]\n"
      "vstrh.32 q0, [r1], #8\n"
      "vstrh.32 q1, [r3], #8\n"
      "cmp r1, r0\n"
      "bne 10b\n"

      "ldr r0, [sp, #28]\n"            // the next two pixels
      "subs r0, r0, #1\n"
      "beq 50f\n"
      "str r0, [sp, #28]\n"
      "ldrd r9, r11, [sp]\n"
      "ldrd r0, r2, [sp, #32]\n"
      "ldr r5, [sp, #24]\n"
      "ldr r4, [sp, #40]\n"
      "add r9, r9, r0\n"
      "add r11, r11, r0\n"
      "strd r9, r11, [sp]\n"
      "add r1, r1, r2\n"
      "add r3, r3, r2\n"
      "add r4, r4, r1\n"
      "str r4, [sp, #16]\n"
      "b 10b\n"
      "15:\n"
      "bmi 14b\n"
      "b 13b\n"
      "50:\n"
      CORMORANT_RELEASE("48")
      CORMORANT_POP_D8_D15
      "pop {r4-r11, pc}\n");
}
// clang-format on

void conv_gemm_words_mve_plain(const MveGemm& gemm) {
  for (std::uint32_t pair = 0; pair < gemm.pairs; ++pair) {
    const std::int8_t* const patches[2] = {gemm.patch0 + pair * gemm.in_step, gemm.patch1 + pair * gemm.in_step};
    std::int8_t* const outs[2] = {gemm.out0 + pair * gemm.out_step, gemm.out1 + pair * gemm.out_step};
    const std::uint8_t* stream = gemm.stream;
    for (std::uint32_t block = 0; block < gemm.blocks; ++block) {
      const int32x4_t bias = vldrwq_s32(reinterpret_cast<const std::int32_t*>(stream));
      stream += 16;
      std::int32_t sums[2][4] = {};
      for (std::uint32_t chunk = 0; chunk < gemm.chunks; ++chunk) {
        for (int lane = 0; lane < 4; ++lane, stream += 8) {
          const int16x8_t w = vldrbq_s16(reinterpret_cast<const std::int8_t*>(stream));
          for (int pixel = 0; pixel < 2; ++pixel) {
            const auto* x = reinterpret_cast<const std::int16_t*>(patches[pixel] + 16 * chunk);
            sums[pixel][lane] = vmladavaq_s16(sums[pixel][lane], vldrhq_s16(x), w);
          }
        }
      }
      const int32x4_t factor = vldrwq_s32(reinterpret_cast<const std::int32_t*>(stream));
      stream += 16;
      for (int pixel = 0; pixel < 2; ++pixel) {
        int32x4_t value = vrmulhq_s32(vaddq_s32(vldrwq_s32(sums[pixel]), bias), factor);
        value = vmaxq_s32(vminq_s32(value, vdupq_n_s32(gemm.output.max)), vdupq_n_s32(gemm.output.min));
        vstrhq_s32(reinterpret_cast<std::int16_t*>(outs[pixel] + 8 * block), value);
      }
    }
  }
}

}  // namespace cormorant::conv
