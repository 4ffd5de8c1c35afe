// SPDX-License-Identifier: Apache-2.0
//
// From reset to main(), on every board and in every CPU's code. The boards differ only in their memory map, which is
// their linker script; everything a Cortex-M needs before C++ is the same and sits here once. The instructions are the
// ARMv6-M subset, so the one file assembles for cortex-m0 as for cortex-m55.
//
// It is assembly for a reason: a compiler may hoist a floating-point constant above the store that enables the FPU.

    .syntax unified
    .thumb

// System control block, the same addresses on every Cortex-M.
    .equ SCB_CCR, 0xE000ED14
    .equ CCR_UNALIGN_TRP, 1 << 3
    .equ CCR_DIV_0_TRP, 1 << 4
    .equ CCR_LOB, 1 << 19              // ARMv8.1-M: cache of loop and branch information
    .equ SCB_SHCSR, 0xE000ED24
    .equ SHCSR_ENABLE_FAULTS, 0xF << 16  // MemManage, BusFault, UsageFault, SecureFault each get their own handler
    .equ SCB_CPACR, 0xE000ED88
    .equ CPACR_FULL_CP10_CP11, 0xF << 20

    .section .vectors, "a", %progbits
    .globl cormorant_vectors
cormorant_vectors:
    .word __stack_top
    .word cormorant_board_reset
    .rept 14                           // NMI, the faults, SVCall, PendSV, SysTick: nothing here expects any of them
    .word cormorant_exception
    .endr

    .section .text.cormorant_board_reset, "ax", %progbits
    .globl cormorant_board_reset
    .type cormorant_board_reset, %function
    .thumb_func
cormorant_board_reset:
#if __ARM_ARCH >= 8
    ldr r0, =__stack_limit
    msr msplim, r0
#endif
    ldr r0, =SCB_SHCSR
    ldr r1, =SHCSR_ENABLE_FAULTS
    ldr r2, [r0]
    orrs r2, r1
    str r2, [r0]

    // A division by zero is a bug wherever it happens. Code for Cortex-M0 and M23 runs on an M3 and an M33 here, which
    // would forgive the unaligned accesses that those two fault on: trap them, as a test asks for other CPUs' code.
    ldr r0, =SCB_CCR
#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__) || defined(CORMORANT_TRAP_UNALIGNED)
    ldr r1, =CCR_DIV_0_TRP + CCR_UNALIGN_TRP
#elif defined(__ARM_ARCH_8_1M_MAIN__)
    ldr r1, =CCR_DIV_0_TRP + CCR_LOB
#else
    ldr r1, =CCR_DIV_0_TRP
#endif
    ldr r2, [r0]
    orrs r2, r1
    str r2, [r0]

#if defined(__ARM_FP)
    ldr r0, =SCB_CPACR
    ldr r1, =CPACR_FULL_CP10_CP11
    ldr r2, [r0]
    orrs r2, r1
    str r2, [r0]
#endif
    dsb
    isb

    ldr r0, =__data_start
    ldr r1, =__data_end
    ldr r2, =__data_load
copy_data:
    cmp r0, r1
    bhs zero_bss
    ldmia r2!, {r3}
    stmia r0!, {r3}
    b copy_data

zero_bss:
    ldr r0, =__bss_start
    ldr r1, =__bss_end
    movs r2, #0
zero_bss_word:
    cmp r0, r1
    bhs enter_main
    stmia r0!, {r2}
    b zero_bss_word

enter_main:
    bl main
    b .
    .pool
    .size cormorant_board_reset, . - cormorant_board_reset

// Any exception ends the run. The stack may be what is broken, so the reporter brings its own; the old frame is handed
// over to be read.
    .section .text.cormorant_exception, "ax", %progbits
    .globl cormorant_exception
    .type cormorant_exception, %function
    .thumb_func
cormorant_exception:
    mov r0, sp
#if __ARM_ARCH >= 8
    movs r1, #0
    msr msplim, r1
#endif
    ldr r1, =cormorant_exception_stack_top
    mov sp, r1
    bl cormorant_report_exception      // (const std::uint32_t* frame), does not return
    b .
    .pool
    .size cormorant_exception, . - cormorant_exception

// The C library's division routines name this symbol in their unwind tables; without it they would pull the unwinder in.
    .globl __aeabi_unwind_cpp_pr0
    .thumb_func
__aeabi_unwind_cpp_pr0:
    bx lr
