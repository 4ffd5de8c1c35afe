// SPDX-License-Identifier: Apache-2.0
//
// Without this block in the first 4 KB of flash the RP2350's boot ROM does not start a program (datasheet, 5.9.5): an
// executable for its Arm cores in the secure state. The vector table, at the beginning of flash, says where it starts.
    .section .image_definition, "a", %progbits
    .word 0xffffded3                   // a block begins
    .word 0x10210142                   // type of image: executable, secure, Arm, RP2350
    .word 0x000001ff                   // no more items
    .word 0                            // the next block is this one
    .word 0xab123579                   // the block ends
