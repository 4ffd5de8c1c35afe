// SPDX-License-Identifier: Apache-2.0
//
// Requantization on ARMv6-M, which has neither a long multiply nor saturation, as assembly for the loops that need it:
// the sum in a high register becomes an int8 in r0. r4 and r5 are the halves of the multiplier, r6 the shift's rounding
// and the output's offset as one number, r7 the shift; r1, r2 and r3 are clobbered. The doubled high half of the
// product is high + high + carry, where the carry is bit 31 of the product, and bit 30 rounds.
#pragma once

// clang-format off
#define CORMORANT_REQUANTIZE_V6M(sum) CORMORANT_REQUANTIZE_V6M_SHIFTED(sum, "", "")
// With code that shifts the sum in r0 before it is multiplied, and the product in r0 before it is rounded; r1 is free.
#define CORMORANT_REQUANTIZE_V6M_SHIFTED(sum, BEFORE, AFTER) \
  "mov r0, " sum "\n"                 \
  BEFORE                              \
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
  "adds r0, r0, r2\n"                 \
  "lsls r1, r1, #17\n"                \
  "adcs r0, r0, r0\n"                 \
  "lsls r1, r1, #1\n"                 \
  "movs r1, #0\n"                     \
  "adcs r0, r0, r1\n"                 \
  AFTER                               \
  "asrs r1, r0, #31\n"                \
  "adds r0, r0, r1\n"                 \
  "adds r0, r0, r6\n"                 \
  "asrs r0, r0, r7\n"                 \
  "sxtb r1, r0\n"                     \
  "cmp r1, r0\n"                      \
  "beq 5f\n"                          \
  "asrs r0, r0, #31\n"                \
  "movs r1, #127\n"                   \
  "eors r0, r0, r1\n"                 \
  "5:\n"
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
