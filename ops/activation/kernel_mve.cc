// SPDX-License-Identifier: Apache-2.0
//
// Sixteen lookups per turn of a tail-predicated loop. Offsets of a gather are unsigned, so the bytes' sign bits are
// flipped, which is the + 128 of the table. As C++:
//   for (; count > 0; count -= 16, from += 16, to += 16) {
//     const mve_pred16_t p = vctp8q(count);
//     vstrbq_p_u8(to, vldrbq_gather_offset_z_u8(table, veorq_u8(vldrbq_z_u8(from, p), flip), p), p);
//   }
#include "ops/activation/kernel.h"

namespace cormorant::ops {
namespace {

void execute(const void* plan) {
  const auto& p = *static_cast<const ActivationPlan*>(plan);
  const std::int8_t* from = p.input;
  std::int8_t* to = p.output;
  asm volatile(
      "vmov.i8 q2, #0x80\n"
      "wlstp.8 lr, %[count], 2f\n"
      "1: vldrb.u8 q0, [%[from]], #16\n"
      "veor q0, q0, q2\n"
      "vldrb.u8 q1, [%[table], q0]\n"
      "vstrb.8 q1, [%[to]], #16\n"
      "letp lr, 1b\n"
      "2:\n"
      : [to] "+&r"(to), [from] "+&r"(from)
      : [count] "r"(p.count), [table] "r"(p.zero - 128)
      : "q0", "q1", "q2", "lr", "memory");
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_ACTIVATION_KERNELS, mve)

}  // namespace cormorant::ops
