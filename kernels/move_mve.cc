// SPDX-License-Identifier: Apache-2.0
//
// Sixteen bytes per turn, the last ones masked by the loop itself: no tail, no alignment. In C++:
//   for (; count > 0; count -= 16, to += 16, from += 16) vstrbq_p_s8(to, vldrbq_z_s8(from, vctp8q(count)),
//   vctp8q(count));
// gcc 12 does not turn that into a tail-predicated loop.
#include "kernels/move.h"

namespace cormorant {

void copy_bytes_mve(std::int8_t* to, const std::int8_t* from, std::uint32_t count) {
  asm volatile(
      "wlstp.8 lr, %[count], 2f\n"
      "1: vldrb.u8 q0, [%[from]], #16\n"
      "vstrb.8 q0, [%[to]], #16\n"
      "letp lr, 1b\n"
      "2:\n"
      : [to] "+&r"(to), [from] "+&r"(from)
      : [count] "r"(count)
      : "q0", "lr", "memory");
}

void fill_bytes_mve(std::int8_t* to, std::int8_t value, std::uint32_t count) {
  asm volatile(
      "vdup.8 q0, %[value]\n"
      "wlstp.8 lr, %[count], 2f\n"
      "1: vstrb.8 q0, [%[to]], #16\n"
      "letp lr, 1b\n"
      "2:\n"
      : [to] "+&r"(to)
      : [count] "r"(count), [value] "r"(value)
      : "q0", "lr", "memory");
}

}  // namespace cormorant
