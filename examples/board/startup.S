// SPDX-License-Identifier: Apache-2.0
//
// From reset to main(), in assembly because a compiler may use the FPU before C code has enabled it.
    .syntax unified
    .thumb

    .section .vectors, "a", %progbits
    .word __stack_top
    .word reset_handler
    .rept 14
    .word fault_handler
    .endr

    .section .text.reset_handler, "ax", %progbits
    .globl reset_handler
    .type reset_handler, %function
    .thumb_func
reset_handler:
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
    ldr r0, =0xE000ED88                // CPACR: full access to the FPU, and to MVE, which shares its registers
    ldr r1, [r0]
    ldr r2, =0xF << 20
    orrs r1, r2
    str r1, [r0]
#endif
#if defined(__ARM_FEATURE_MVE)
    ldr r0, =0xE000ED14                // CCR.LOB: loops without the cost of their branch
    ldr r1, [r0]
    ldr r2, =1 << 19
    orrs r1, r2
    str r1, [r0]
#endif
    dsb
    isb
    ldr r0, =__data_start
    ldr r1, =__data_end
    ldr r2, =__data_load
1:  cmp r0, r1
    bhs 2f
    ldmia r2!, {r3}
    stmia r0!, {r3}
    b 1b
2:  ldr r0, =__bss_start
    ldr r1, =__bss_end
    movs r2, #0
3:  cmp r0, r1
    bhs 4f
    stmia r0!, {r2}
    b 3b
4:  bl main
    bl console_exit                    // with what main() returned
    .pool

    .section .text.fault_handler, "ax", %progbits
    .type fault_handler, %function
    .thumb_func
fault_handler:
    movs r0, #99
    bl console_exit
