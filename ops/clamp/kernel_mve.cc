// SPDX-License-Identifier: Apache-2.0
//
// Sixteen bytes per turn of a tail-predicated loop, which gcc 12 does not generate from the C++ form:
//   for (; count > 0; count -= 16, from += 16, to += 16) {
//     const mve_pred16_t p = vctp8q(count);
//     vstrbq_p_s8(to, vminq_s8(vmaxq_s8(vldrbq_z_s8(from, p), low), high), p);
//   }
#include "ops/clamp/kernel.h"

namespace cormorant::ops {
namespace {

void execute(const void* plan) {
  const auto& p = *static_cast<const ClampPlan*>(plan);
  const std::int8_t* from = p.input;
  std::int8_t* to = p.output;
  asm volatile(
      "vdup.8 q1, %[low]\n"
      "vdup.8 q2, %[high]\n"
      "wlstp.8 lr, %[count], 2f\n"
      "1: vldrb.u8 q0, [%[from]], #16\n"
      "vmax.s8 q0, q0, q1\n"
      "vmin.s8 q0, q0, q2\n"
      "vstrb.8 q0, [%[to]], #16\n"
      "letp lr, 1b\n"
      "2:\n"
      : [to] "+&r"(to), [from] "+&r"(from)
      : [count] "r"(p.count), [low] "r"(p.low), [high] "r"(p.high)
      : "q0", "q1", "q2", "lr", "memory");
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_CLAMP_KERNELS, mve)

}  // namespace cormorant::ops
