// SPDX-License-Identifier: Apache-2.0
//
// Pieces of assembly that the depthwise loops on MVE share. Registers: r0 stream, r11 output offset, r12 free; q0 … q3
// sums of 16 channels: 0 4 8 12, 2 6 10 14, 1 5 9 13, 3 7 11 15.
#pragma once

// clang-format off
// The multipliers, 64 bytes, the right shifts, 16, and the left shifts, 16, follow.
#define MULTIPLY(q, t)               \
  "vldrw.u32 " t ", [r0], #16\n"     \
  "vqrdmulh.s32 " q ", " q ", " t "\n"
// The same with slopes: sums below zero have other multipliers, 32 bytes after all of these.
#define MULTIPLY_BY_SIGN(q, t, u)    \
  "vldrw.u32 " u ", [r0, #96]\n"     \
  "vldrw.u32 " t ", [r0], #16\n"     \
  "vpte.s32 lt, " q ", zr\n"         \
  "vqrdmulht.s32 " q ", " q ", " u "\n" \
  "vqrdmulhe.s32 " q ", " q ", " t "\n"
#define SHIFT(q, t)                  \
  "vldrb.s32 " t ", [r0], #4\n"      \
  "vrshl.s32 " q ", " q ", " t "\n"
#define LOWER(q, t)                  \
  "vshr.s32 " t ", " q ", #31\n"     \
  "vadd.i32 " q ", " q ", " t "\n"
#define SHIFT_LEFT(q, t, at)         \
  "vldrb.s32 " t ", [r0, #" at "]\n" \
  "vshl.s32 " q ", " q ", " t "\n"
#define SHIFT_AWAY(q, t, u)          \
  "vldrb.s32 " t ", [r0], #4\n"      \
  "vand " u ", " q ", " t "\n"       \
  "vshr.s32 " u ", " u ", #31\n"     \
  "vadd.i32 " q ", " q ", " u "\n"   \
  "vrshl.s32 " q ", " q ", " t "\n"

#define MULTIPLY_ALL \
  MULTIPLY("q0", "q4") MULTIPLY("q1", "q5") MULTIPLY("q2", "q6") MULTIPLY("q3", "q7")
#define MULTIPLY_ALL_BY_SIGN                                            \
  MULTIPLY_BY_SIGN("q0", "q4", "q5") MULTIPLY_BY_SIGN("q1", "q6", "q7") \
  MULTIPLY_BY_SIGN("q2", "q4", "q5") MULTIPLY_BY_SIGN("q3", "q6", "q7")
// `last` bytes follow the shifts to the right.
#define REQUANTIZE_GENERAL REQUANTIZE_GENERAL_BY(MULTIPLY_ALL, "16")
#define REQUANTIZE_GENERAL_BY(MULTIPLIED, last)                         \
  SHIFT_LEFT("q0", "q4", "80") SHIFT_LEFT("q1", "q5", "84")             \
  SHIFT_LEFT("q2", "q6", "88") SHIFT_LEFT("q3", "q7", "92")             \
  MULTIPLIED                                                            \
  SHIFT_AWAY("q0", "q4", "q5") SHIFT_AWAY("q1", "q6", "q7")             \
  SHIFT_AWAY("q2", "q4", "q5") SHIFT_AWAY("q3", "q6", "q7")             \
  "add r0, r0, #" last "\n"

#define NARROW                       \
  "vqmovnb.s32 q4, q0\n"             \
  "vqmovnb.s32 q5, q2\n"             \
  "vqmovnt.s32 q4, q1\n"             \
  "vqmovnt.s32 q5, q3\n"             \
  "vqadd.s16 q4, q4, r11\n"          \
  "vqadd.s16 q5, q5, r11\n"          \
  "vqmovnb.s16 q6, q4\n"             \
  "vqmovnt.s16 q6, q5\n"

// min and max are at sp + `at`.
#define CLAMP(min_at, max_at)        \
  "ldr r12, [sp, #" min_at "]\n"     \
  "vdup.8 q7, r12\n"                 \
  "ldr r12, [sp, #" max_at "]\n"     \
  "vmax.s8 q6, q6, q7\n"             \
  "vdup.8 q7, r12\n"                 \
  "vmin.s8 q6, q6, q7\n"
// clang-format on
