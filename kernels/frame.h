// SPDX-License-Identifier: Apache-2.0
//
// Tells debuggers what a naked function does to the stack, so that a backtrace from any of its instructions finds the
// caller. These become entries of .debug_frame, not code. Where the compiler writes no such entries (no debug
// information was requested), they would be errors, so they expand to nothing. gcc says whether it does; so does clang,
// but wrongly if it writes exception tables instead of debug information, so it must be told by CORMORANT_FRAMES.
#pragma once

#if defined(CORMORANT_FRAMES) || (defined(__GCC_HAVE_DWARF2_CFI_ASM) && !defined(__clang__))
#define CORMORANT_CFI(directive) ".cfi_" directive "\n"
#else
#define CORMORANT_CFI(directive) ""
#endif

// clang-format off
#define CORMORANT_CFI_R4_R7(first)              \
  CORMORANT_CFI("rel_offset r4, " first)        \
  CORMORANT_CFI("rel_offset r5, " first "+4")   \
  CORMORANT_CFI("rel_offset r6, " first "+8")   \
  CORMORANT_CFI("rel_offset r7, " first "+12")
#define CORMORANT_CFI_R8_R11(first)             \
  CORMORANT_CFI("rel_offset r8, " first)        \
  CORMORANT_CFI("rel_offset r9, " first "+4")   \
  CORMORANT_CFI("rel_offset r10, " first "+8")  \
  CORMORANT_CFI("rel_offset r11, " first "+12")

#define CORMORANT_PUSH_R4_R11_LR                \
  "push {r4-r11, lr}\n"                         \
  CORMORANT_CFI("adjust_cfa_offset 36")         \
  CORMORANT_CFI_R4_R7("0")                      \
  CORMORANT_CFI_R8_R11("16")                    \
  CORMORANT_CFI("rel_offset lr, 32")
#define CORMORANT_PUSH_R4_R7_LR                 \
  "push {r4-r7, lr}\n"                          \
  CORMORANT_CFI("adjust_cfa_offset 20")         \
  CORMORANT_CFI_R4_R7("0")                      \
  CORMORANT_CFI("rel_offset lr, 16")

// ARMv6-M can push no other registers: r8 to r11 go by way of r4 to r7.
#define CORMORANT_PUSH_R4_R11_LR_V6M            \
  CORMORANT_PUSH_R4_R7_LR                       \
  "mov r4, r8\n"                                \
  "mov r5, r9\n"                                \
  "mov r6, r10\n"                               \
  "mov r7, r11\n"                               \
  "push {r4-r7}\n"                              \
  CORMORANT_CFI("adjust_cfa_offset 16")         \
  CORMORANT_CFI_R8_R11("0")
#define CORMORANT_POP_R4_R11_PC_V6M             \
  "pop {r4-r7}\n"                               \
  CORMORANT_CFI("adjust_cfa_offset -16")        \
  "mov r8, r4\n"                                \
  "mov r9, r5\n"                                \
  "mov r10, r6\n"                               \
  "mov r11, r7\n"                               \
  "pop {r4-r7, pc}\n"

#define CORMORANT_PUSH_D8_D9                    \
  "vpush {d8-d9}\n"                             \
  CORMORANT_CFI("adjust_cfa_offset 16")         \
  CORMORANT_CFI("rel_offset d8, 0")             \
  CORMORANT_CFI("rel_offset d9, 8")
#define CORMORANT_POP_D8_D9                     \
  "vpop {d8-d9}\n"                              \
  CORMORANT_CFI("adjust_cfa_offset -16")        \
  CORMORANT_CFI("restore d8")                   \
  CORMORANT_CFI("restore d9")
#define CORMORANT_PUSH_D8_D15                   \
  "vpush {d8-d15}\n"                            \
  CORMORANT_CFI("adjust_cfa_offset 64")         \
  CORMORANT_CFI("rel_offset d8, 0")             \
  CORMORANT_CFI("rel_offset d9, 8")             \
  CORMORANT_CFI("rel_offset d10, 16")           \
  CORMORANT_CFI("rel_offset d11, 24")           \
  CORMORANT_CFI("rel_offset d12, 32")           \
  CORMORANT_CFI("rel_offset d13, 40")           \
  CORMORANT_CFI("rel_offset d14, 48")           \
  CORMORANT_CFI("rel_offset d15, 56")
#define CORMORANT_POP_D8_D15                    \
  "vpop {d8-d15}\n"                             \
  CORMORANT_CFI("adjust_cfa_offset -64")

#define CORMORANT_RESERVE(bytes) "sub sp, sp, #" bytes "\n" CORMORANT_CFI("adjust_cfa_offset " bytes)
#define CORMORANT_RELEASE(bytes) "add sp, sp, #" bytes "\n" CORMORANT_CFI("adjust_cfa_offset -" bytes)
// clang-format on

// Around a return that is not the function's last instruction: the code after it has the frame again.
#define CORMORANT_CFI_LEAVING CORMORANT_CFI("remember_state")
#define CORMORANT_CFI_LEFT CORMORANT_CFI("restore_state")
