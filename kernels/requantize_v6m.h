// SPDX-License-Identifier: Apache-2.0
//
// Requantization on ARMv6-M, which has neither a long multiply nor saturation, as assembly for the loops that need it:
// the sum in a high register becomes an int8 in r0. r4 and r5 are the halves of the multiplier, r6 the shift's rounding
// and the output's offset as one number, r7 the shift; r1, r2 and r3 are clobbered. The doubled high half of the
// product is high + high + carry, where the carry is bit 31 of the product, and bit 30 rounds.
#pragma once

#include <cstdint>

namespace cormorant {

// Sums below this, and a multiplier in three pieces of 11, 10 and 10 bits: no product of the two exceeds 32 bits.
inline constexpr std::int32_t kSmallSumV6m = 1 << 20;

}  // namespace cormorant

// clang-format off
#define CORMORANT_SATURATE_V6M        \
  "sxtb r1, r0\n"                     \
  "cmp r1, r0\n"                      \
  "beq 5f\n"                          \
  "asrs r0, r0, #31\n"                \
  "movs r1, #127\n"                   \
  "eors r0, r0, r1\n"                 \
  "5:\n"
// The upper half of the product, in r0, and the lower one's bits 16 … 31 at the top of r1.
#define CORMORANT_PRODUCT_V6M         \
  "uxth r1, r0\n"                     \
  "asrs r0, r0, #16\n"                \
  "movs r2, r1\n"                     \
  "muls r2, r5, r2\n"                 \
  "lsrs r2, r2, #16\n"                \
  "movs r3, r0\n"                     \
  "muls r3, r5, r3\n"                 \
  "adds r3, r3, r2\n"                 \
  "muls r1, r4, r1\n"                 \
  "uxth r2, r3\n"                     \
  "adds r1, r1, r2\n"                 \
  "muls r0, r4, r0\n"                 \
  "asrs r3, r3, #16\n"                \
  "adds r0, r0, r3\n"                 \
  "asrs r2, r1, #16\n"                \
  "adds r0, r0, r2\n"
// Ties of negative numbers round down; that the product is below zero says as much as that its rounded half is.
#define CORMORANT_REQUANTIZE_V6M(sum) \
  "mov r0, " sum "\n"                 \
  CORMORANT_PRODUCT_V6M               \
  "asrs r2, r0, #31\n"                \
  "lsls r1, r1, #17\n"                \
  "adcs r0, r0, r0\n"                 \
  "lsls r1, r1, #1\n"                 \
  "adcs r0, r0, r6\n"                 \
  "adds r0, r0, r2\n"                 \
  "asrs r0, r0, r7\n"                 \
  CORMORANT_SATURATE_V6M
// For a sum below kSmallSumV6m: r3, r4 and r5 are the multiplier's pieces, from the top, and stay. What each product
// leaves beneath the next one only matters as its carry; the last shift leaves the rounding bit as the carry.
#define CORMORANT_REQUANTIZE_SMALL_V6M(sum) \
  "mov r0, " sum "\n"                 \
  "mov r1, " sum "\n"                 \
  "mov r2, " sum "\n"                 \
  "muls r1, r5, r1\n"                 \
  "muls r2, r4, r2\n"                 \
  "asrs r1, r1, #10\n"                \
  "adds r2, r2, r1\n"                 \
  "asrs r1, r0, #31\n"                \
  "muls r0, r3, r0\n"                 \
  "asrs r2, r2, #10\n"                \
  "adds r0, r0, r2\n"                 \
  "asrs r0, r0, #11\n"                \
  "adcs r0, r0, r6\n"                 \
  "adds r0, r0, r1\n"                 \
  "asrs r0, r0, r7\n"                 \
  CORMORANT_SATURATE_V6M
// The pieces of the multiplier in r5.
#define CORMORANT_PIECES_V6M          \
  "lsrs r3, r5, #20\n"                \
  "lsls r4, r5, #12\n"                \
  "lsrs r4, r4, #22\n"                \
  "lsls r5, r5, #22\n"                \
  "lsrs r5, r5, #22\n"
// Any sum and any shift: r6 is the offset alone, and `BEFORE` shifts r0 to the left before it is multiplied; r1 is free
// there. ASRS leaves the last bit that it shifted out in the carry, which rounds the shifted number; if the shift is
// zero, it leaves the carry of the addition before, which undoes the lowering.
#define CORMORANT_REQUANTIZE_ANY_V6M(sum, BEFORE) \
  "mov r0, " sum "\n"                 \
  BEFORE                              \
  CORMORANT_PRODUCT_V6M               \
  "lsls r1, r1, #17\n"                \
  "adcs r0, r0, r0\n"                 \
  "lsls r1, r1, #1\n"                 \
  "movs r1, #0\n"                     \
  "adcs r0, r0, r1\n"                 \
  "asrs r1, r0, #31\n"                \
  "adds r0, r0, r1\n"                 \
  "asrs r0, r0, r7\n"                 \
  "adcs r0, r0, r6\n"                 \
  CORMORANT_SATURATE_V6M
// The multiplier for the sign of the sum in r0; the record, which `record` points to, has it `at` bytes on, and the one
// for sums below zero `negative` bytes on.
#define CORMORANT_MULTIPLIER_V6M(record, at, negative) \
  "ldr r1, [sp, #" record "]\n"       \
  "ldr r5, [r1, #" at "]\n"           \
  "cmp r0, #0\n"                      \
  "bge 8f\n"                          \
  "ldr r5, [r1, #" negative "]\n"     \
  "8:\n"                              \
  "asrs r4, r5, #16\n"                \
  "uxth r5, r5\n"
// clang-format on
