// SPDX-License-Identifier: Apache-2.0
//
// The convolutions' loop (conv_gemm_mve.cc) with a term per row besides the one per column, one multiplier for all, and
// rows that end where they end: what 16 does not divide of them is loaded under a predicate, since another tensor or
// nothing at all may follow.
#include <arm_mve.h>

#include <cstddef>

#include "kernels/matmul.h"
#include "kernels/requantize_mve.h"

namespace cormorant {

static_assert(offsetof(MveMatmul, stream) == 0 && offsetof(MveMatmul, lhs0) == 4 && offsetof(MveMatmul, lhs1) == 8);
static_assert(offsetof(MveMatmul, out0) == 12 && offsetof(MveMatmul, out1) == 16 && offsetof(MveMatmul, inner) == 20);
static_assert(offsetof(MveMatmul, blocks) == 24 && offsetof(MveMatmul, pairs) == 28);
static_assert(offsetof(MveMatmul, lhs_step) == 32 && offsetof(MveMatmul, out_step) == 36);
static_assert(offsetof(MveMatmul, row_terms) == 40 && offsetof(MveMatmul, multiplier) == 44);
static_assert(offsetof(MveMatmul, left) == 48 && offsetof(MveMatmul, right) == 52 && offsetof(MveMatmul, offset) == 56);

// Registers: r0 r2 r4 r6 sums of row 0, r8 r10 r12 lr sums of row 1; r1 r3 outputs; r5 stream; r7 rounds left; r9 r11
// rows; q0 q1 rows, q2 q3 q4 columns, then results; q5 right shifts, q6 left shifts, q7 offset. Stack: 0 lhs0, 4 lhs1,
// 8 rounds of four steps, 12 where to enter the first round, 16 end of out0, 20 inner % 16, 24 stream, 28 pairs, 32
// lhs_step, 36 bytes from the end of a pair's output to the next pair's, 40 bytes of output, 44 row terms, 48
// multiplier.

// clang-format off
#define COLUMNS                       \
  "vldrb.u8 q2, [r5], #16\n"          \
  "vmladava.s8 r0, q0, q2\n"          \
  "vldrb.u8 q3, [r5], #16\n"          \
  "vmladava.s8 r8, q1, q2\n"          \
  "vldrb.u8 q4, [r5], #16\n"          \
  "vmladava.s8 r2, q0, q3\n"          \
  "vldrb.u8 q2, [r5], #16\n"          \
  "vmladava.s8 r10, q1, q3\n"         \
  "vmladava.s8 r4, q0, q4\n"          \
  "vmladava.s8 r12, q1, q4\n"         \
  "vmladava.s8 r6, q0, q2\n"          \
  "vmladava.s8 lr, q1, q2\n"
#define STEP                          \
  "vldrb.u8 q0, [r9], #16\n"          \
  "vldrb.u8 q1, [r11], #16\n"         \
  COLUMNS
#define STEP_BYTES "56"

extern "C" __attribute__((naked)) void cormorant_matmul_mve(const MveMatmul* /*matmul*/) {
  asm volatile(
      "push {r4-r11, lr}\n"
      "vpush {d8-d15}\n"
      "sub sp, sp, #56\n"
      "ldrd r5, r9, [r0]\n"            // stream, lhs0
      "ldrd r11, r1, [r0, #8]\n"       // lhs1, out0
      "ldrd r3, r2, [r0, #16]\n"       // out1, inner
      "ldrd r4, r6, [r0, #24]\n"       // blocks, pairs
      "ldrd r8, r10, [r0, #32]\n"      // lhs_step, out_step
      "strd r9, r11, [sp]\n"
      "and r12, r2, #15\n"
      "str r12, [sp, #20]\n"
      "lsrs r2, r2, #4\n"              // whole steps
      "adds r12, r2, #3\n"
      "lsrs r12, r12, #2\n"
      "str r12, [sp, #8]\n"
      "rsbs r2, r2, #0\n"              // steps of the first round that are left out
      "ands r2, r2, #3\n"
      "movs r7, #" STEP_BYTES "\n"
      "muls r2, r7, r2\n"
      "adr.w r12, 11f\n"
      "add r12, r12, r2\n"
      "ldr r2, [sp, #8]\n"
      "cmp r2, #0\n"
      "bne 1f\n"
      "adr.w r12, 12f\n"               // no whole step at all
      "1:\n"
      "orr r12, r12, #1\n"
      "str r12, [sp, #12]\n"
      "lsls r4, r4, #2\n"
      "add r12, r1, r4\n"
      "str r12, [sp, #16]\n"
      "sub r12, r10, r4\n"
      "str r8, [sp, #32]\n"
      "str r12, [sp, #36]\n"
      "str r4, [sp, #40]\n"
      "strd r5, r6, [sp, #24]\n"
      "ldrd r2, r4, [r0, #40]\n"       // row terms, multiplier
      "strd r2, r4, [sp, #44]\n"
      "ldrd r2, r4, [r0, #48]\n"
      "ldr r6, [r0, #56]\n"
      "vdup.32 q6, r2\n"
      "vdup.32 q5, r4\n"
      "vdup.32 q7, r6\n"
      "b 10f\n"

      ".p2align 2\n"
      "10:\n"                          // four columns: start from their terms
      "ldm r5, {r0, r2, r4, r6}\n"
      "ldrd r9, r11, [sp]\n"
      "ldr r7, [sp, #8]\n"
      "ldm r5!, {r8, r10, r12, lr}\n"
      "ldr pc, [sp, #12]\n"
      ".p2align 2\n"
      "11:\n"
      STEP STEP STEP STEP
      "subs r7, r7, #1\n"
      "bne 11b\n"
      ".p2align 2\n"
      "12:\n"
      "ldr r7, [sp, #20]\n"
      "cbz r7, 13f\n"
      "vctp.8 r7\n"
      "vpstt\n"
      "vldrbt.u8 q0, [r9]\n"
      "vldrbt.u8 q1, [r11]\n"
      COLUMNS
      "13:\n"
      "vmov q0[2], q0[0], r0, r4\n"
      "vmov q0[3], q0[1], r2, r6\n"
      "vmov q1[2], q1[0], r8, r12\n"
      "vmov q1[3], q1[1], r10, lr\n"
      "ldrd r7, r2, [sp, #44]\n"
      "ldrd r4, r6, [r7]\n"            // the rows' terms
      "vadd.i32 q0, q0, r4\n"
      "vadd.i32 q1, q1, r6\n"
      "vshl.s32 q0, q0, q6\n"
      "vshl.s32 q1, q1, q6\n"
      "vqrdmulh.s32 q0, q0, r2\n"
      "vqrdmulh.s32 q1, q1, r2\n"
      "vand q2, q0, q5\n"              // negative numbers' ties round down, where there is a shift
      "vand q4, q1, q5\n"
      "vshr.s32 q2, q2, #31\n"
      "vshr.s32 q4, q4, #31\n"
      "vadd.i32 q0, q0, q2\n"
      "vadd.i32 q1, q1, q4\n"
      "vrshl.s32 q0, q0, q5\n"
      "vrshl.s32 q1, q1, q5\n"
      "vadd.i32 q0, q0, q7\n"
      "vadd.i32 q1, q1, q7\n"
      "vqmovnb.s32 q0, q0\n"           // saturates in two steps; the store takes the lowest byte of each lane
      "vqmovnb.s32 q1, q1\n"
      "ldr r0, [sp, #16]\n"
      "vqmovnb.s16 q0, q0\n"
      "vqmovnb.s16 q1, q1\n"
      "vstrb.32 q0, [r1], #4\n"
      "vstrb.32 q1, [r3], #4\n"
      "cmp r1, r0\n"
      "bne 10b\n"

      "ldr r0, [sp, #28]\n"            // the next two rows
      "subs r0, r0, #1\n"
      "beq 50f\n"
      "str r0, [sp, #28]\n"
      "ldrd r9, r11, [sp]\n"
      "ldrd r0, r2, [sp, #32]\n"
      "ldr r5, [sp, #24]\n"
      "ldrd r4, r6, [sp, #40]\n"
      "add r9, r9, r0\n"
      "add r11, r11, r0\n"
      "strd r9, r11, [sp]\n"
      "add r1, r1, r2\n"
      "add r3, r3, r2\n"
      "add r4, r4, r1\n"
      "str r4, [sp, #16]\n"
      "adds r6, r6, #8\n"
      "str r6, [sp, #44]\n"
      "b 10b\n"
      "50:\n"
      "add sp, sp, #56\n"
      "vpop {d8-d15}\n"
      "pop {r4-r11, pc}\n");
}
// clang-format on

void matmul_mve_plain(const MveMatmul& m) {
  for (std::uint32_t pair = 0; pair < m.pairs; ++pair) {
    const std::int8_t* const rows[2] = {m.lhs0 + pair * m.lhs_step, m.lhs1 + pair * m.lhs_step};
    std::int8_t* const outs[2] = {m.out0 + pair * m.out_step, m.out1 + pair * m.out_step};
    const std::byte* stream = m.stream;
    for (std::uint32_t block = 0; block < m.blocks; ++block) {
      const int32x4_t terms = vldrwq_s32(reinterpret_cast<const std::int32_t*>(stream));
      stream += 16;
      std::int32_t sums[2][4] = {};
      for (std::uint32_t k = 0; k < m.inner; k += 16) {
        for (int lane = 0; lane < 4; ++lane, stream += 16) {
          const int8x16_t column = vldrbq_s8(reinterpret_cast<const std::int8_t*>(stream));
          for (int row = 0; row < 2; ++row) {
            sums[row][lane] = vmladavaq_s8(sums[row][lane], vldrbq_z_s8(rows[row] + k, vctp8q(m.inner - k)), column);
          }
        }
      }
      for (int row = 0; row < 2; ++row) {
        int32x4_t value = vaddq_n_s32(vaddq_s32(vldrwq_s32(sums[row]), terms),
                                      m.row_terms[2 * pair + static_cast<std::uint32_t>(row)]);
        value = requantize_mve(value, vdupq_n_s32(m.multiplier), vdupq_n_s32(m.left), vdupq_n_s32(m.right));
        value = vaddq_n_s32(value, m.offset);
        value = vmaxq_s32(vminq_s32(value, vdupq_n_s32(127)), vdupq_n_s32(-128));
        vstrbq_s32(outs[row] + 4 * block, value);
      }
    }
  }
}

}  // namespace cormorant
