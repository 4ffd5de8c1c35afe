// SPDX-License-Identifier: Apache-2.0
//
// Encodings as the GNU assembler writes them, and what a pipeline sees. The kernels' own instructions first.
#include "elf/decode.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cormorant::plugin {
namespace {

struct Case {
  const char* text;
  std::uint16_t first, second;
  Kind kind;
  Registers reads, addresses, writes;
};

constexpr Registers r(unsigned n) { return core(n); }
constexpr Registers q(unsigned n) { return vector(n); }

const Case kCases[] = {
    // 16 bits
    {"movs r0, #1", 0x2001, 0, Kind::alu, 0, 0, r(0)},
    {"adds r1, r2, r3", 0x18d1, 0, Kind::alu, r(2) | r(3), 0, r(1)},
    {"cmp r0, r1", 0x4288, 0, Kind::alu, r(0) | r(1), 0, 0},
    {"muls r2, r3, r2", 0x435a, 0, Kind::multiply, r(2) | r(3), 0, r(2)},
    {"mov r8, r1", 0x4688, 0, Kind::alu, r(1), 0, r(8)},
    {"mov pc, lr", 0x46f7, 0, Kind::branch_register, r(14), 0, r(15)},
    {"bx lr", 0x4770, 0, Kind::branch_register, r(14), 0, 0},
    {"ldr r1, [pc, #4]", 0x4901, 0, Kind::load, 0, 0, r(1)},
    {"ldrsb r1, [r2, r3]", 0x56d1, 0, Kind::load, 0, r(2) | r(3), r(1)},
    {"strb r1, [r2, #1]", 0x7051, 0, Kind::store, r(1), r(2), 0},
    {"ldr r1, [sp, #4]", 0x9901, 0, Kind::load, 0, r(13), r(1)},
    {"push {r4, lr}", 0xb510, 0, Kind::store_multiple, r(4) | r(14), r(13), 0},
    {"pop {r4, pc}", 0xbd10, 0, Kind::load_branch, 0, r(13), r(4) | r(15)},
    {"cbz r0, .", 0xb100, 0, Kind::branch_conditional, r(0), 0, 0},
    {"sxtb r1, r2", 0xb251, 0, Kind::alu, r(2), 0, r(1)},
    {"ldmia r0!, {r1, r2}", 0xc806, 0, Kind::load_multiple, 0, r(0), r(1) | r(2)},
    {"bne .", 0xd1fe, 0, Kind::branch_conditional, 0, 0, 0},
    {"b .", 0xe7fe, 0, Kind::branch, 0, 0, 0},
    {"ite eq", 0xbf0c, 0, Kind::nothing, 0, 0, 0},
    // 32 bits
    {"bl .", 0xf7ff, 0xfffe, Kind::call, 0, 0, r(14)},
    {"beq.w .", 0xf43f, 0xaffe, Kind::branch_conditional, 0, 0, 0},
    {"movw r1, #1", 0xf240, 0x0101, Kind::alu, 0, 0, r(1)},
    {"movt r1, #1", 0xf2c0, 0x0101, Kind::alu, r(1), 0, r(1)},
    {"add.w r1, r2, r3, lsl #2", 0xeb02, 0x0183, Kind::alu, r(2) | r(3), 0, r(1)},
    {"ssat r1, #8, r2", 0xf302, 0x0107, Kind::alu, r(2), 0, r(1)},
    {"sxtb16 r1, r2", 0xfa2f, 0xf182, Kind::alu, r(2), 0, r(1)},
    {"smlad r1, r2, r3, r4", 0xfb22, 0x4103, Kind::multiply_add, r(2) | r(3) | r(4), 0, r(1)},
    {"smuad r1, r2, r3", 0xfb22, 0xf103, Kind::multiply, r(2) | r(3), 0, r(1)},
    {"smull r1, r2, r3, r4", 0xfb83, 0x1204, Kind::long_multiply, r(3) | r(4), 0, r(1) | r(2)},
    {"smlal r1, r2, r3, r4", 0xfbc3, 0x1204, Kind::long_multiply_add, r(1) | r(2) | r(3) | r(4), 0, r(1) | r(2)},
    {"sdiv r1, r2, r3", 0xfb92, 0xf1f3, Kind::divide, r(2) | r(3), 0, r(1)},
    {"ldrd r1, r2, [r3], #8", 0xe8f3, 0x1202, Kind::load_double, 0, r(3), r(1) | r(2)},
    {"strd r1, r2, [r3]", 0xe9c3, 0x1200, Kind::store_double, r(1) | r(2), r(3), 0},
    {"ldr.w r1, [r2], #4", 0xf852, 0x1b04, Kind::load, 0, r(2), r(1)},
    {"ldrsb.w r1, [r2, #1]", 0xf992, 0x1001, Kind::load, 0, r(2), r(1)},
    {"str.w r1, [r2, r3]", 0xf842, 0x1003, Kind::store, r(1), r(2) | r(3), 0},
    {"ldmia.w sp!, {r4, r5, pc}", 0xe8bd, 0x8030, Kind::load_branch, 0, r(13), r(4) | r(5) | r(15)},
    {"tbb [pc, r0]", 0xe8df, 0xf000, Kind::table_branch, 0, r(15) | r(0), 0},
    {"dsb", 0xf3bf, 0x8f4f, Kind::system, 0, 0, 0},
    {"asrl r0, r1, #3", 0xea50, 0x01ef, Kind::alu, r(0) | r(1) | r(15), 0, r(1)},
    // Floating point
    {"vadd.f32 s0, s4, s8", 0xee32, 0x0a04, Kind::float_simple, q(1) | q(2), 0, q(0)},
    {"vmul.f32 s0, s4, s8", 0xee22, 0x0a04, Kind::float_multiply, q(1) | q(2), 0, q(0)},
    {"vfma.f32 s0, s4, s8", 0xeea2, 0x0a04, Kind::float_multiply_add, q(0) | q(1) | q(2), 0, q(0)},
    {"vdiv.f32 s0, s4, s8", 0xee82, 0x0a04, Kind::float_divide, q(1) | q(2), 0, q(0)},
    {"vsqrt.f32 s0, s4", 0xeeb1, 0x0ac2, Kind::float_divide, q(1), 0, q(0)},
    {"vmov s0, r1", 0xee00, 0x1a10, Kind::float_move, r(1), 0, q(0)},
    {"vldr s0, [r1]", 0xed91, 0x0a00, Kind::float_load, 0, r(1), q(0)},
    {"vpush {d8}", 0xed2d, 0x8b02, Kind::float_store_multiple, q(4), r(13), 0},
    // MVE
    {"vldrb.u8 q0, [r1], #16", 0xecb1, 0x1e10, Kind::vector_load, 0, r(1), q(0)},
    {"vldrb.s16 q0, [r1], #8", 0xecb1, 0x0e88, Kind::vector_load, 0, r(1), q(0)},
    {"vldrh.s32 q0, [r1], #-8", 0xec39, 0x0f04, Kind::vector_load, 0, r(1), q(0)},
    {"vldrw.u32 q0, [r1]", 0xed91, 0x1f00, Kind::vector_load, 0, r(1), q(0)},
    {"vld20.8 {q0, q1}, [r1]", 0xfc91, 0x1e00, Kind::vector_load, 0, r(1), q(0)},
    {"vldrb.u8 q0, [r1, q2]", 0xfc91, 0x0e04, Kind::vector_gather, 0, r(1) | q(2), q(0)},
    {"vldrw.u32 q0, [r1, q2, uxtw #2]", 0xfc91, 0x0f45, Kind::vector_gather, 0, r(1) | q(2), q(0)},
    {"vldrw.u32 q0, [q2, #4]", 0xfd94, 0x1e01, Kind::vector_gather, 0, q(2), q(0)},
    {"vstrw.32 q0, [r1, #16]!", 0xeda1, 0x1f04, Kind::vector_store, q(0), r(1), 0},
    {"vstrb.32 q0, [r1, q2]", 0xec81, 0x0f04, Kind::vector_scatter, q(0), r(1) | q(2), 0},
    {"vmladava.s8 r0, q1, q2", 0xeef2, 0x0f24, Kind::vector_multiply, r(0) | q(1) | q(2), 0, r(0)},
    {"vmladav.s8 r0, q1, q2", 0xeef2, 0x0f04, Kind::vector_multiply, q(1) | q(2), 0, r(0)},
    {"vmlaldava.s32 r0, r1, q1, q2", 0xee83, 0x0e24, Kind::vector_multiply, r(0) | r(1) | q(1) | q(2), 0, r(0) | r(1)},
    {"vaddva.s8 r0, q1", 0xeef1, 0x0f22, Kind::vector_multiply, r(0) | q(1), 0, r(0)},
    {"vmaxv.s8 r0, q1", 0xeee2, 0x0f02, Kind::vector_slow, r(0) | q(1), 0, r(0)},
    {"vabav.s8 r0, q1, q2", 0xee82, 0x0f05, Kind::vector_slow, r(0) | q(1) | q(2), 0, r(0)},
    {"vmullb.s8 q0, q1, q2", 0xee03, 0x0e04, Kind::vector_multiply, q(1) | q(2), 0, q(0)},
    {"vmla.s32 q0, q1, r2", 0xee23, 0x0e42, Kind::vector_multiply, q(0) | q(1) | r(2), 0, q(0)},
    {"vqrdmulh.s32 q0, q1, r2", 0xfe23, 0x0e62, Kind::vector_multiply, q(1) | r(2), 0, q(0)},
    {"vadd.i32 q0, q1, r2", 0xee23, 0x0f42, Kind::vector_simple, q(1) | r(2), 0, q(0)},
    {"vqadd.s8 q0, q1, r2", 0xee02, 0x0f62, Kind::vector_simple, q(1) | r(2), 0, q(0)},
    {"vshl.s32 q0, r2", 0xee39, 0x1e62, Kind::vector_simple, q(0) | r(2), 0, q(0)},
    {"vrshl.s32 q0, r2", 0xee3b, 0x1e62, Kind::vector_slow, q(0) | r(2), 0, q(0)},
    {"vmovlb.s8 q0, q1", 0xeea8, 0x0f42, Kind::vector_simple, q(1), 0, q(0)},
    {"vqmovnb.s16 q0, q1", 0xee33, 0x0e03, Kind::vector_slow, q(0) | q(1), 0, q(0)},
    {"vqrshrnb.s32 q0, q1, #3", 0xee9d, 0x0f43, Kind::vector_slow, q(0) | q(1), 0, q(0)},
    {"vcmp.s8 gt, q0, q1", 0xfe01, 0x1f03, Kind::vector_multiply, q(0) | q(1), 0, 0},
    {"vpsel q0, q1, q2", 0xfe33, 0x0f05, Kind::vector_simple, q(1) | q(2), 0, q(0)},
    {"vpst", 0xfe71, 0x0f4d, Kind::vector_control, 0, 0, 0},
    {"vctp.8 r2", 0xf002, 0xe801, Kind::vector_control, r(2), 0, 0},
    {"vidup.u8 q0, r2, #1", 0xee03, 0x0f6e, Kind::vector_simple, r(2), 0, q(0) | r(2)},
    {"vadd.i32 q0, q1, q2", 0xef22, 0x0844, Kind::vector_simple, q(1) | q(2), 0, q(0)},
    {"vmul.i32 q0, q1, q2", 0xef22, 0x0954, Kind::vector_multiply, q(1) | q(2), 0, q(0)},
    {"vqrdmulh.s32 q0, q1, q2", 0xff22, 0x0b44, Kind::vector_multiply, q(1) | q(2), 0, q(0)},
    {"vrshl.s32 q0, q1, q2", 0xef24, 0x0542, Kind::vector_slow, q(1) | q(2), 0, q(0)},
    {"vmax.s8 q0, q1, q2", 0xef02, 0x0644, Kind::vector_simple, q(1) | q(2), 0, q(0)},
    {"vshr.s32 q0, q1, #3", 0xefbd, 0x0052, Kind::vector_simple, q(1), 0, q(0)},
    {"vmov.i32 q0, #5", 0xef80, 0x0055, Kind::vector_simple, 0, 0, q(0)},
    {"vcvt.f32.s32 q0, q1", 0xffbb, 0x0642, Kind::vector_multiply, q(1), 0, q(0)},
    {"vneg.s8 q0, q1", 0xffb1, 0x03c2, Kind::vector_simple, q(1), 0, q(0)},
    {"vdup.32 q0, r1", 0xeea0, 0x1b10, Kind::vector_simple, r(1), 0, q(0)},
    {"vmov.s8 r2, q0[3]", 0xee50, 0x2b70, Kind::vector_move, q(0), 0, r(2)},
    {"vmov q0[2], q0[0], r1, r2", 0xec12, 0x0f01, Kind::vector_move, r(1) | r(2), 0, q(0)},
    {"dlstp.8 lr, r2", 0xf002, 0xe001, Kind::loop_start, r(2), 0, 0},
    {"wls lr, r2, .", 0xf042, 0xc801, Kind::loop_start, r(2), 0, 0},
    {"letp lr, .", 0xf01f, 0xc80b, Kind::loop_end, 0, 0, 0},
};

TEST(Decode, KnowsUnitAndRegisters) {
  for (const Case& c : kCases) {
    const Instruction i = decode(c.first, c.second);
    EXPECT_EQ(static_cast<int>(i.kind), static_cast<int>(c.kind)) << c.text;
    EXPECT_EQ(i.reads, c.reads) << c.text;
    EXPECT_EQ(i.addresses, c.addresses) << c.text;
    EXPECT_EQ(i.writes, c.writes) << c.text;
    EXPECT_EQ(i.is_wide, is_wide(c.first)) << c.text;
  }
}

TEST(Decode, CountsListsAndLanes) {
  EXPECT_EQ(decode(0xb5f0, 0).count, 5);        // push {r4-r7, lr}
  EXPECT_EQ(decode(0xe92d, 0x4ff0).count, 9);   // push {r4-r11, lr}
  EXPECT_EQ(decode(0xfc91, 0x0e04).count, 16);  // vldrb.u8 q0, [r1, q2]
  EXPECT_EQ(decode(0xfc91, 0x0e95).count, 8);   // vldrh.u16 q0, [r1, q2, uxtw #1]
  EXPECT_EQ(decode(0xec91, 0x0f04).count, 4);   // vldrb.s32 q0, [r1, q2]
  EXPECT_EQ(decode(0xed2d, 0x8b04).count, 4);   // vpush {d8, d9}: words
}

}  // namespace
}  // namespace cormorant::plugin
