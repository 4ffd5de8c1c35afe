// SPDX-License-Identifier: Apache-2.0
// A firmware of the harness's form, made by hand, whose stack is known to the byte: one kernel, its load and its
// execute, called through the operator table. Every way to move the stack pointer occurs that compilers use. The
// numbers after the instructions are the function's depth after them.
#include "semihosting.inc"

function main
    push {r4, lr}              // 8
    bl cormorant_inference_load
    bl cormorant_inference_execute
    pop {r4, pc}
    .size main, . - main

function cormorant_inference_load
    push {r4, r5, r6, lr}      // 16
    sub sp, #24                // 40
    ldr r3, =kernel
    ldr r3, [r3, #4]
    blx r3
    add sp, #24
    pop {r4, r5, r6, pc}
    .pool
    .size cormorant_inference_load, . - cormorant_inference_load

// A frame too large for an immediate of ARMv6-M; a return before it is made; a call at the end.
function kernel_load
    cmp r0, #0
    bne 1f
    bx lr
1:  push {r4, lr}              // 8
    ldr r4, =-600
    add sp, r4                 // 608
    ldr r4, =600
    add sp, r4
    pop {r4}
    pop {r3}                   // 0
    mov lr, r3
    b leaf
    .pool
    .size kernel_load, . - kernel_load

function leaf
    push {r0, r1, r2, r3}      // 16
    add sp, #16
    bx lr
    .size leaf, . - leaf

function cormorant_inference_execute
    push {r4, lr}              // 8
    ldr r3, =kernel
    ldr r3, [r3, #8]
    blx r3
    pop {r4, pc}
    .pool
    .size cormorant_inference_execute, . - cormorant_inference_execute

// One of two functions by a pointer, and a jump by a table.
function kernel_execute
    push {r4, r5, r6, r7, lr}  // 20
    mov r7, sp
    sub sp, #12                // 32
#if defined(UNKNOWN_POINTER)
    blx r5
#else
    ldr r4, =deep
    cmp r0, #0
    bne 1f
    ldr r4, =leaf
1:  blx r4
#endif
    cmp r0, #1
#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__)
    bhi 4f
    ldr r1, =3f
    mov pc, r1
    .pool
3:
#else
    bhi.w 4f
    tbb [pc, r0]
2:  .byte (3f - 2b) / 2, (4f - 2b) / 2
3:  strd r0, r1, [sp, #-8]!    // 40
    str r2, [sp, #-8]!         // 48
    stmdb sp!, {r0-r6, r8}     // 80
    sub.w sp, sp, #256         // 336
    add.w sp, sp, #256
    ldmia.w sp!, {r0-r6, r8}
    ldr r2, [sp], #8
    add sp, #8                 // 32
#if defined(__ARM_FP)
    vpush {d8-d11}             // 64
    vpop {d8-d11}
#endif
    cmp r0, #0
    itt eq
    moveq sp, r7
    popeq {r4, r5, r6, r7, pc}
    mov r4, sp
    bic r4, r4, #15
    mov sp, r4                 // 44: 32, rounded down by 8 at most
    mov sp, r7
    sub sp, #12                // 32
#endif
4:  mov sp, r7                 // 20
#if defined(RECURSION)
    bl kernel_execute
#elif defined(VARYING)
5:  push {r0}
    cmp r0, #0
    bne 5b
#elif defined(UNKNOWN_DEPTH)
    subs r7, r7, r0
    mov sp, r7
#endif
    pop {r4, r5, r6, r7, pc}
    .pool
    .size kernel_execute, . - kernel_execute

function deep
    push {r4, lr}              // 8
    sub sp, #400               // 408
    bl leaf                    // 424
    add sp, #400
    pop {r4, pc}
    .size deep, . - deep

    .section .rodata.table, "a", %progbits
    .balign 4
    .globl cormorant_linked_model
cormorant_linked_model:
    .word 0, 0, 0, kernels, 1
kernels:
    .word kernel
kernel:
    .word name, kernel_load, kernel_execute
name:
    .asciz "test::kernel.out"
