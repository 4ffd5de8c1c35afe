// SPDX-License-Identifier: Apache-2.0
//
// Sixteen bytes per turn of a tail-predicated loop, which gcc 12 does not generate from the C++ form.
#include "ops/flip_sign/kernel.h"

namespace cormorant::ops {
namespace {

void execute(const void* plan) {
  const auto& p = *static_cast<const FlipSignPlan*>(plan);
  const std::int8_t* from = p.input;
  std::int8_t* to = p.output;
  asm volatile(
      "vdup.8 q1, %[sign]\n"
      "wlstp.8 lr, %[count], 2f\n"
      "1: vldrb.u8 q0, [%[from]], #16\n"
      "veor q0, q0, q1\n"
      "vstrb.8 q0, [%[to]], #16\n"
      "letp lr, 1b\n"
      "2:\n"
      : [to] "+&r"(to), [from] "+&r"(from)
      : [count] "r"(p.count), [sign] "r"(0x80)
      : "q0", "q1", "lr", "memory");
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_FLIP_SIGN_KERNELS, mve)

}  // namespace cormorant::ops
