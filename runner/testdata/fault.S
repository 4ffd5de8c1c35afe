// SPDX-License-Identifier: Apache-2.0
// One of several faults, chosen with -D: what each looks like on the console is the test's subject.
#include "semihosting.inc"

function main
    push {r4, lr}
    bl _ZN9cormorant14protect_memoryEv
    .globl faulting
#if defined(FAULT_BAD_ADDRESS)
    ldr r0, =0xF0000000
faulting:
    ldr r0, [r0]
#elif defined(FAULT_UNALIGNED)
    ldr r0, =__stack_limit + 1
faulting:
    ldr r0, [r0]
#elif defined(FAULT_UNDEFINED)
faulting:
    udf #0
#elif defined(FAULT_FLASH_WRITE)
    ldr r0, =__program_start
faulting:
    str r0, [r0]
#elif defined(FAULT_STACK_OVERFLOW)
faulting:
    push {r0-r7}
    b faulting
#elif defined(FAULT_HANG)
faulting:
    b faulting
#elif defined(FAULT_DIVISION)
    movs r0, #1
    movs r1, #0
faulting:
    udiv r0, r0, r1
#endif
    print "survived\n"
    exit
    .pool
    .size main, . - main
