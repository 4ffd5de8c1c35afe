// SPDX-License-Identifier: Apache-2.0
// Start-up, console and exit work; so do initialized and zeroed data, and floating point where the CPU has it.
#include "semihosting.inc"

function main
    ldr r0, =initialized
    ldr r0, [r0]
    ldr r1, =12345678
    cmp r0, r1
    bne wrong
    ldr r0, =zeroed
    ldr r0, [r0]
    cmp r0, #0
    bne wrong
#if defined(__ARM_FP)
    vmov.f32 s0, #1.5
    vadd.f32 s0, s0, s0
    vcvt.s32.f32 s0, s0
    vmov r0, s0
    cmp r0, #3
    bne wrong
#endif
#if defined(__ARM_FEATURE_MVE)
    movs r0, #7
    vdup.32 q0, r0
    movs r0, #0
    vaddva.s32 r0, q0
    cmp r0, #28
    bne wrong
#endif
    print "hello\n"
    exit
    .pool
wrong:
    print "wrong\n"
    exit
    .pool

    .section .data.initialized, "aw", %progbits
    .balign 4
initialized:
    .word 12345678
    .section .bss.zeroed, "aw", %nobits
    .balign 4
zeroed:
    .space 4
#if defined(WITH_CONSTRUCTOR)
    .section .init_array, "aw", %init_array
    .word main
#endif
#if defined(WITH_NEWER_CODE)
    .cpu cortex-m3
function newer
    movw r0, #1
#endif
