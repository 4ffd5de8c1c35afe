// SPDX-License-Identifier: Apache-2.0
//
// Sums of vectors of four elements by MVE, in 32-bit lanes whose lowest bytes are loaded and stored:
//   out[i] = saturate_int8((self[i] · self_factor + offset + other[i] · other_factor) >> shift)
// The sum is shifted left, with saturation, until its eight bits are uppermost, and then right. (VQSHRN would do as
// well, but binutils 2.40 encodes it as VQRSHRN, which rounds.) Each step begins a vector while it finishes the one
// before: seven instructions in seven cycles, where one vector after the other takes twelve. Everything is read before
// it is written, so that the result may take the place of an operand.
//
// Parts of an asm statement. q2 is self_factor in all lanes; operands are self, other, out (low registers, as loads and
// stores that narrow or widen require), offset, factor and up, which is 24 − shift. q0 and q3 take vectors in turn, q1
// changes.
#pragma once

// clang-format off
#define CORMORANT_SUM_BEGIN(q)                 \
  "vldrb.s32 " q ", [%[self]], #4\n\t"         \
  "vmlas.u32 " q ", q2, %[offset]\n\t"         \
  "vldrb.s32 q1, [%[other]], #4\n\t"           \
  "vmla.u32 " q ", q1, %[factor]\n\t"
#define CORMORANT_SUM_END(q)                   \
  "vqshl.s32 " q ", %[up]\n\t"                 \
  "vshr.s32 " q ", " q ", #24\n\t"             \
  "vstrb.32 " q ", [%[out]], #4\n\t"
#define CORMORANT_SUM_STEP(last, next)         \
  "vqshl.s32 " last ", %[up]\n\t"              \
  CORMORANT_SUM_BEGIN(next)                    \
  "vshr.s32 " last ", " last ", #24\n\t"       \
  "vstrb.32 " last ", [%[out]], #4\n\t"
// From one vector to the third one after it.
#define CORMORANT_SUM_THREE_STEPS              \
  CORMORANT_SUM_STEP("q0", "q3")               \
  CORMORANT_SUM_STEP("q3", "q0")               \
  CORMORANT_SUM_STEP("q0", "q3")
// clang-format on
