// SPDX-License-Identifier: Apache-2.0
//
// Four at a time by widening loads, the last ones masked by the loop itself. gcc 12 generates no such loop from
//   for (; left > 0; left -= 4, input += 4, output += 4) {
//     const mve_pred16_t p = vctp32q(left);
//     const int32x4_t difference = vsubq_n_s32(vldrbq_z_s32(input, p), zero_point);
//     vstrwq_p_f32(output, vmulq_n_f32(vcvtq_f32_s32(difference), scale), p);
//   }
#include "ops/dequantize/kernel.h"

namespace cormorant::ops {
namespace {

struct Operands {
  const void* input;
  float* output;
  std::uint32_t count;
  std::uint32_t scale;
  std::int32_t zero_point;
};

void dequantize_i8(Operands o) {
  asm volatile(
      "wlstp.32 lr, %[count], 2f\n"
      "1: vldrb.s32 q0, [%[input]], #4\n"
      "vsub.i32 q0, q0, %[zero_point]\n"
      "vcvt.f32.s32 q0, q0\n"
      "vmul.f32 q0, q0, %[scale]\n"
      "vstrw.32 q0, [%[output]], #16\n"
      "letp lr, 1b\n"
      "2:\n"
      : [input] "+&l"(o.input), [output] "+&r"(o.output)
      : [count] "r"(o.count), [zero_point] "r"(o.zero_point), [scale] "r"(o.scale)
      : "q0", "lr", "memory");
}

void dequantize_i16(Operands o) {
  asm volatile(
      "wlstp.32 lr, %[count], 2f\n"
      "1: vldrh.s32 q0, [%[input]], #8\n"
      "vsub.i32 q0, q0, %[zero_point]\n"
      "vcvt.f32.s32 q0, q0\n"
      "vmul.f32 q0, q0, %[scale]\n"
      "vstrw.32 q0, [%[output]], #16\n"
      "letp lr, 1b\n"
      "2:\n"
      : [input] "+&l"(o.input), [output] "+&r"(o.output)
      : [count] "r"(o.count), [zero_point] "r"(o.zero_point), [scale] "r"(o.scale)
      : "q0", "lr", "memory");
}

void execute(const void* plan) {
  const auto& p = *static_cast<const DequantizePlan*>(plan);
  const Operands operands = {p.input, p.output, p.count, __builtin_bit_cast(std::uint32_t, p.scale), p.zero_point};
  if (p.wide) {
    dequantize_i16(operands);
  } else {
    dequantize_i8(operands);
  }
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_DEQUANTIZE_KERNELS, mve)

}  // namespace cormorant::ops
