// SPDX-License-Identifier: Apache-2.0
// Code whose cycles are known by hand from the tables of elf/cycles.cc. Sections end with a nop, so that what
// the last interesting instruction leaves in the pipeline is included, and nops before them let the pipeline come to rest. board_test.cc has the sums per CPU; here is how they come
// about. P is the refill after a taken branch: 2 on M0, M3, M4, M33 and M55, 1 on M0+ and M23; M7 and M85 are taken to
// predict every branch.
#include "semihosting.inc"

    .macro label name
    .globl \name
\name:
    .endm

function main
    sub sp, #64
    mov r0, sp
    nop
// M7, M85 issue any two of them together, M55 too, because they are light: 2 cycles. Others 3.
label plain_begin
    nop
    nop
    nop
label plain_end

    movs r2, #100
    nop
// Each round 2, in pairs 1, and P except for the last one: 99 · (2 + P) + 2 or 99 · (1 + P) + 1.
label loop_begin
1:  subs r2, #1
    bne 1b
label loop_end

    nop
// M0, M0+, M23: 2 + 2 + 1 + 1 = 6. M3, M4, M33: the second load hides a cycle of the first, nothing hides its own:
// 1 + 2 + 1 + 1 = 5. M55: issued in cycles 0 and 1; the sum waits until 3 for the second, and takes the nop along: 4.
// M7, M85: both loads in cycle 0, the sum and the nop in cycle 1: 2.
label load_begin
    ldr r1, [r0]
    ldr r2, [r0, #4]
    adds r3, r1, r2
    nop
label load_end

// The address is what was loaded: nothing hides. M0, M0+, M23: 2 + 2 + 1 = 5. M3, M4, M33 too: 2 + 2 + 1. M55: the
// second is issued in cycle 2 and takes the nop along: 3. M7, M85: a result is there after 1 cycle, an address is
// needed 1 earlier: again cycle 2, and the nop with it: 3.
    mov r1, r0
    str r1, [r0]
    nop
label chain_begin
    ldr r1, [r0]
    ldr r2, [r1]
    nop
label chain_end

// Lists: 1 + 4 each, and 1: 11. M7, M55, M85 move two words in a cycle: 1 + 2 each, and 1: 7.
label list_begin
    push {r4-r7}
    pop {r4-r7}
    nop
label list_end

// M0: BL 1 + 3, nop 1, BX 1 + 2, nop 1: 9. M0+, M23: BL 1 + 2, BX 1 + 1: 7. M3, M4, M33: BL 1 + 2: 8. M55: the nop
// goes with BX: 1 + 2 + 1 + 2 + 1 = 7. M7, M85: 1 + 1 + 1 = 3.
label call_begin
    bl leaf
    nop
label call_end

// One multiplication: 1, and a nop that goes with it on M7, M55 and M85: 1, others 2.
label multiply_begin
    muls r2, r3, r2
    nop
label multiply_end

#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB >= 2
// M3: 2 + 2 + 4 + 1 = 9. M4, M33: 1 + 1 + 1 + 1 = 4. M7, M55, M85: a product is there after 2 cycles, but an
// accumulator is needed 1 later than factors: 0, 1, 2; the nop goes with the last on M7 and M85: 3, on M55, where it
// must be a pair of 16-bit instructions, not: 4.
    nop
    nop
    nop
label accumulate_begin
    mla r1, r2, r3, r1
    mla r1, r2, r3, r1
    smull r4, r5, r2, r3
    nop
label accumulate_end

// 7 wherever the divisor is in hardware and the time depends on the operands, and 1.
    movs r3, #7
    nop
label divide_begin
    udiv r1, r2, r3
    nop
label divide_end
#endif

#if defined(__ARM_FEATURE_MVE)
// Another unit each: issued in cycles 0, 1, 2, 3, and the nop in 4. On M85 the nop goes with the store: 4.
    nop
    nop
    nop
label units_begin
    vldrw.u32 q0, [r0]
    vadd.i32 q1, q2, q3
    vmul.i32 q4, q5, q6
    vstrw.32 q7, [r0]
    nop
label units_end

// The unit of memory is busy for 2 cycles: issued in 0, 2, 3, 4, and the nop in 5 (M85: with the store).
    nop
    nop
    nop
label busy_begin
    vldrw.u32 q0, [r0]
    vldrb.u8 q1, [r0]
    vadd.i32 q2, q3, q4
    vstrw.32 q5, [r0]
    nop
label busy_end

// A product is there after 2 cycles: issued in 0 and 2, the nop in 3 (M85: with the addition).
    nop
    nop
    nop
label product_begin
    vmul.i32 q0, q1, q2
    vadd.i32 q3, q0, q0
    nop
label product_end

// Lane by lane: 4 and 1.
    vmov.i32 q1, #0
    nop
    nop
    nop
    nop
label gather_begin
    vldrw.u32 q0, [r0, q1]
    nop
label gather_end

// DLSTP 1; three rounds of 1. The first end of a loop is a branch: 1 + P. The second is remembered and costs nothing,
// but the unit is busy for another cycle: 1. The last one falls through: 1. And the nop: 1 + 3 + 3 + 1 + 1 + 1 = 10; on
// M85 with P = 0 there are 2 less.
    movs r2, #10
    nop
label hardware_loop_begin
    dlstp.32 lr, r2
1:  vadd.i32 q0, q0, q0
    letp lr, 1b
    nop
label hardware_loop_end
#endif
    print "done\n"
    exit

function leaf
    nop
    bx lr
