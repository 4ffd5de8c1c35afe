// SPDX-License-Identifier: Apache-2.0
//
// The convolutions' loop (conv_gemm_mve.cc, which explains its order) with a term per row in addition to the one per
// column, one multiplier for all, and rows that end exactly: a rest of less than 16 is loaded under a predicate, since
// another tensor or nothing at all may follow.
#include <arm_mve.h>

#include <cstddef>

#include "kernels/frame.h"
#include "kernels/matmul.h"
#include "kernels/requantize_mve.h"

namespace cormorant {

static_assert(offsetof(MveMatmul, stream) == 0 && offsetof(MveMatmul, lhs0) == 4 && offsetof(MveMatmul, lhs1) == 8);
static_assert(offsetof(MveMatmul, out0) == 12 && offsetof(MveMatmul, out1) == 16 && offsetof(MveMatmul, inner) == 20);
static_assert(offsetof(MveMatmul, blocks) == 24 && offsetof(MveMatmul, pairs) == 28);
static_assert(offsetof(MveMatmul, lhs_step) == 32 && offsetof(MveMatmul, out_step) == 36);
static_assert(offsetof(MveMatmul, row_terms) == 40 && offsetof(MveMatmul, multiplier) == 44);
static_assert(offsetof(MveMatmul, left) == 48 && offsetof(MveMatmul, right) == 52 && offsetof(MveMatmul, offset) == 56);

// Registers: r0 r2 r4 r6 sums of row 0, r8 r10 r12 lr sums of row 1; r1 r3 outputs; r5 stream; r7 steps left; r9 r11
// rows; q0 q1 rows, q3 q4 columns; q2 q3 results; q5 multiplier, q6 q7 terms of the two rows. Stack: 0 lhs0, 4 lhs1, 8
// steps, 12 whether the rest or a left shift takes a detour, 16 out0 of the last block, 20 bytes of output except a
// block's, 24 stream, less a vector, 28 pairs, 32 lhs_step, 36 bytes from the end of a pair's output to the next
// pair's, 40 row terms, 44 inner % 16, 48 offset, 52 zero, or 256 and a left shift; 56 right shifts.

// clang-format off
#define STEP                          \
  "vmladava.s8 r8, q1, q4\n"          \
  "vldrb.u8 q3, [r5, #16]!\n"         \
  "vmladava.s8 r2, q0, q3\n"          \
  "vldrb.u8 q4, [r5, #16]!\n"         \
  "vmladava.s8 r10, q1, q3\n"         \
  "vldrb.u8 q3, [r5, #16]!\n"         \
  "vmladava.s8 r4, q0, q4\n"          \
  COUNT                               \
  "vmladava.s8 r12, q1, q4\n"         \
  "vldrb.u8 q4, [r5, #16]!\n"         \
  "vmladava.s8 r6, q0, q3\n"          \
  "vldrb.u8 q0, [r9], #16\n"          \
  "vmladava.s8 lr, q1, q3\n"          \
  "vldrb.u8 q1, [r11], #16\n"         \
  "vmladava.s8 r0, q0, q4\n"

extern "C" __attribute__((naked)) void cormorant_matmul_mve(const MveMatmul* /*matmul*/) {
  asm volatile(
      CORMORANT_PUSH_R4_R11_LR
      CORMORANT_PUSH_D8_D15
      CORMORANT_RESERVE("76")
      "ldrd r9, r11, [r0, #4]\n"       // lhs0, lhs1
      "strd r9, r11, [sp]\n"
      "ldrd r1, r3, [r0, #12]\n"       // out0, out1
      "ldrd r2, r4, [r0, #20]\n"       // inner, blocks
      "and r12, r2, #15\n"
      "str r12, [sp, #44]\n"
      "lsrs r2, r2, #4\n"
      "ands r6, r2, #1\n"              // steps except the last: half of them, rounded up, and whether they are odd
      "eor r6, r6, #1\n"
      "bic r2, r2, #1\n"
      "adds r2, r2, r6\n"
      "str r2, [sp, #8]\n"
      "ldrd r6, r8, [r0, #48]\n"       // left, right
      "vdup.32 q0, r8\n"
      "vstrb.8 q0, [sp, #56]\n"
      "cmp r8, #0\n"
      "ite ne\n"
      "movne r6, #0\n"
      "addeq r6, r6, #256\n"
      "str r6, [sp, #52]\n"
      "orr r12, r12, r6\n"
      "str r12, [sp, #12]\n"
      "subs r4, r4, #1\n"
      "lsls r4, r4, #2\n"
      "adds r2, r1, r4\n"
      "strd r2, r4, [sp, #16]\n"
      "ldr r5, [r0]\n"
      "ldrd r2, r6, [r0, #28]\n"       // pairs, lhs_step
      "sub r7, r5, #16\n"
      "strd r7, r2, [sp, #24]\n"
      "ldrd r2, r7, [r0, #36]\n"       // out_step, row terms
      "subs r2, r2, r4\n"
      "subs r2, r2, #4\n"
      "strd r6, r2, [sp, #32]\n"
      "ldr r2, [r0, #44]\n"
      "vdup.32 q5, r2\n"
      "ldr r2, [r0, #56]\n"
      "str r2, [sp, #48]\n"
      "ldm r5, {r0, r2, r4, r6}\n"     // four columns start from their terms
      "mov r8, r0\n"
      "mov r10, r2\n"
      "mov r12, r4\n"
      "mov lr, r6\n"
      "vldrb.u8 q4, [r5, #16]!\n"
      "b 43f\n"

#define COUNT
      ".p2align 2\n"
      "10:\n"
      STEP
#undef COUNT
#define COUNT "subs r7, r7, #1\n"
      "11:\n"
      STEP
#undef COUNT
      "bne 10b\n"

      "12:\n"                          // the last whole step
      "ldr r7, [sp, #12]\n"
      "vmladava.s8 r8, q1, q4\n"
      "vldrb.u8 q3, [r5, #16]!\n"
      "vmladava.s8 r2, q0, q3\n"
      "vldrb.u8 q4, [r5, #16]!\n"
      "vmladava.s8 r10, q1, q3\n"
      "vldrb.u8 q3, [r5, #16]!\n"
      "vmladava.s8 r4, q0, q4\n"
      "cmp r7, #0\n"
      "vmladava.s8 r12, q1, q4\n"
      "vmladava.s8 r6, q0, q3\n"
      "vldrw.u32 q0, [sp, #56]\n"
      "vmladava.s8 lr, q1, q3\n"
      "bne 30f\n"

      "vmov q2[2], q2[0], r0, r4\n"
      "ldr r7, [sp, #16]\n"
      "vmov q2[3], q2[1], r2, r6\n"
      "20:\n"
      "ldr r9, [sp]\n"
      "vmov q3[2], q3[0], r8, r12\n"
      "vadd.i32 q2, q2, q6\n"
      "vqrdmulh.s32 q2, q2, q5\n"
      "cmp r1, r7\n"                   // equal: the pair's last block; nothing changes the flags until it is finished
      "vmov q3[3], q3[1], r10, lr\n"
      "vshr.s32 q1, q2, #31\n"         // negative numbers' ties round down
      "it eq\n"
      "ldreq r5, [sp, #24]\n"
      "vadd.i32 q3, q3, q7\n"
      "ldr r7, [sp, #48]\n"
      "vqrdmulh.s32 q3, q3, q5\n"
      "vadd.i32 q2, q2, q1\n"
      "ldr r0, [r5, #16]\n"
      "vrshl.s32 q2, q2, q0\n"
      "ldr r2, [r5, #20]\n"
      "vshr.s32 q1, q3, #31\n"
      "ldr r4, [r5, #24]\n"
      "vadd.i32 q3, q3, q1\n"
      "ldr r6, [r5, #28]\n"
      "vrshl.s32 q3, q3, q0\n"
      "ldr r11, [sp, #4]\n"
      "21:\n"
      "vqmovnb.s32 q2, q2\n"
      "vldrb.u8 q0, [r9], #16\n"
      "vqmovnt.s32 q2, q3\n"
      "mov r8, r0\n"
      "mov r10, r2\n"
      "vldrb.u8 q4, [r5, #32]!\n"
      "vqadd.s16 q2, q2, r7\n"
      "mov r12, r4\n"
      "mov lr, r6\n"
      "vqmovnb.s16 q2, q2\n"           // the store takes the lowest byte of each lane: row 0, and shifted, row 1
      "vldrb.u8 q1, [r11], #16\n"
      "ldr r7, [sp, #8]\n"
      "vshr.u32 q3, q2, #16\n"
      "vstrb.32 q2, [r1], #4\n"
      "beq 40f\n"
      "vstrb.32 q3, [r3], #4\n"
      "22:\n"
      "vmladava.s8 r0, q0, q4\n"
      "lsrs r7, r7, #1\n"
      "bcs 11b\n"
      "bne 10b\n"
      "b 12b\n"

      "30:\n"
      "ldr r7, [sp, #44]\n"            // the rest beyond multiples of 16
      "cbz r7, 31f\n"
      "vctp.8 r7\n"
      "vpstt\n"
      "vldrbt.u8 q0, [r9]\n"
      "vldrbt.u8 q1, [r11]\n"
      "vldrb.u8 q4, [r5, #16]!\n"
      "vmladava.s8 r0, q0, q4\n"
      "vldrb.u8 q3, [r5, #16]!\n"
      "vmladava.s8 r8, q1, q4\n"
      "vldrb.u8 q4, [r5, #16]!\n"
      "vmladava.s8 r2, q0, q3\n"
      "vldrb.u8 q2, [r5, #16]!\n"
      "vmladava.s8 r10, q1, q3\n"
      "vmladava.s8 r4, q0, q4\n"
      "vmladava.s8 r12, q1, q4\n"
      "vmladava.s8 r6, q0, q2\n"
      "vldrw.u32 q0, [sp, #56]\n"
      "vmladava.s8 lr, q1, q2\n"
      "31:\n"
      "vmov q2[2], q2[0], r0, r4\n"
      "ldr r9, [sp, #52]\n"
      "vmov q2[3], q2[1], r2, r6\n"
      "ldr r7, [sp, #16]\n"
      "cmp r9, #0\n"
      "beq 20b\n"
      "vmov q3[2], q3[0], r8, r12\n"   // no shift, or one to the left
      "cmp r1, r7\n"
      "vmov q3[3], q3[1], r10, lr\n"
      "it eq\n"
      "ldreq r5, [sp, #24]\n"
      "vadd.i32 q2, q2, q6\n"
      "vadd.i32 q3, q3, q7\n"
      "vshl.s32 q2, r9\n"
      "vshl.s32 q3, r9\n"
      "vqrdmulh.s32 q2, q2, q5\n"
      "ldrd r9, r11, [sp]\n"
      "vqrdmulh.s32 q3, q3, q5\n"
      "ldr r7, [sp, #48]\n"
      "ldr r0, [r5, #16]\n"
      "ldr r2, [r5, #20]\n"
      "ldr r4, [r5, #24]\n"
      "ldr r6, [r5, #28]\n"
      "b 21b\n"

      "40:\n"                          // the next two rows
      "ldr r7, [sp, #28]\n"
      "vstrb.32 q3, [r3], #4\n"
      "subs r7, r7, #1\n"
      "beq 50f\n"
      "str r7, [sp, #28]\n"
      "ldrd r7, r9, [sp, #32]\n"
      "add r1, r1, r9\n"
      "add r3, r3, r9\n"
      "ldr r9, [sp, #20]\n"
      "ldr r11, [sp, #4]\n"
      "add r9, r9, r1\n"
      "str r9, [sp, #16]\n"
      "ldr r9, [sp]\n"
      "add r11, r11, r7\n"
      "add r9, r9, r7\n"
      "strd r9, r11, [sp]\n"
      "ldr r7, [sp, #40]\n"
      "43:\n"
      "ldrd r9, r11, [r7], #8\n"       // the rows' terms
      "str r7, [sp, #40]\n"
      "vdup.32 q6, r9\n"
      "vdup.32 q7, r11\n"
      "ldrd r9, r11, [sp]\n"
      "vldrb.u8 q0, [r9], #16\n"
      "ldr r7, [sp, #8]\n"
      "vldrb.u8 q1, [r11], #16\n"
      "b 22b\n"
      "50:\n"
      CORMORANT_RELEASE("76")
      CORMORANT_POP_D8_D15
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
