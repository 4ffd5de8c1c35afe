// SPDX-License-Identifier: Apache-2.0
//
// The labels between which instructions are counted. They cost nothing: the count from …_begin to …_end is the call
// instruction and everything that happens until the callee has returned, which is what a caller pays.

    .syntax unified
    .thumb

    .macro measured name, callee
    .section .text.cormorant_measured_\name, "ax", %progbits
    .globl cormorant_measured_\name
    .type cormorant_measured_\name, %function
    .thumb_func
cormorant_measured_\name:
    push {r4, lr}
    .globl cormorant_\name\()_begin
cormorant_\name\()_begin:
    bl \callee
    .globl cormorant_\name\()_end
cormorant_\name\()_end:
    pop {r4, pc}
    .size cormorant_measured_\name, . - cormorant_measured_\name
    .endm

    measured load, cormorant_inference_load
    measured execute, cormorant_inference_execute
