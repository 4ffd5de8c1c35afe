// SPDX-License-Identifier: Apache-2.0
// Code whose instructions are counted by hand; runner/emulator_test.cc has the sums.
#include "semihosting.inc"

    .macro label name
    .globl \name
\name:
    .endm

function main
label plain_begin
    nop
    nop
    nop
label plain_end                        // 3
    movs r0, #100
label loop_begin
1:  subs r0, #1
    bne 1b
label loop_end                         // 100 times 2
#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB >= 2
    movs r0, #1
label condition_begin
    cmp r0, #0
    ite eq
    addeq r0, #1                       // fails, and counts
    addne r0, #2
label condition_end                    // 4
#endif
#if defined(__ARM_FEATURE_MVE)
    movs r0, #10
label hardware_loop_begin
    dlstp.32 lr, r0                    // 10 lanes in steps of 4: three rounds
1:  vadd.i32 q0, q0, q0
    letp lr, 1b
label hardware_loop_end                // 1 + 3 times 2
#endif
label call_begin
    bl caller
label call_end                         // 1 + caller's 12 + 10 + 2
    print "done\n"
    exit

// 12 instructions of its own, two excursions: one of 10, one of 2.
function caller
    push {r4, lr}
    movs r4, #4
    bl spin
    nop
    bl leaf
    adds r4, #1
    subs r4, #2
    b 1f
1:  nop
    nop
    nop
    pop {r4, pc}
    .size caller, . - caller

// 2 + 2 r4 instructions with r4 = 4: 10.
function spin
    mov r0, r4
1:  subs r0, #1
    bne 1b
    bx lr

function leaf
    nop
    bx lr
