// SPDX-License-Identifier: Apache-2.0
//
// ARMv6-M has neither bit-field extraction nor OR with a shift, so words gain nothing there: two bytes per turn,
// counted up to zero from the end, so that one register indexes input and output and ends the loop. LDRSB takes only a
// register as its offset, which is why odd bytes have pointers of their own. As C++, for which gcc generates twelve
// instructions:
//   for (; i != 0; i += 2) to[i] = zero[from[i]], to_odd[i] = zero[from_odd[i]];
#include "ops/activation/words.h"

namespace cormorant::ops {
namespace {

#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB < 2

void look_up(const ActivationPlan& p) {
  const auto even = static_cast<std::int32_t>(p.count & ~1U);
  const std::int8_t* const from = p.input + even;
  std::int8_t* const to = p.output + even;
  std::int32_t i = -even;
  std::int32_t byte;
  if (even != 0) {
    asm volatile(
        ".syntax unified\n"
        "1: ldrsb %[byte], [%[from], %[i]]\n"
        "ldrsb %[byte], [%[zero], %[byte]]\n"
        "strb %[byte], [%[to], %[i]]\n"
        "ldrsb %[byte], [%[from_odd], %[i]]\n"
        "ldrsb %[byte], [%[zero], %[byte]]\n"
        "strb %[byte], [%[to_odd], %[i]]\n"
        "adds %[i], #2\n"
        "bne 1b\n"
        : [i] "+&l"(i), [byte] "=&l"(byte)
        : [from] "l"(from), [from_odd] "l"(from + 1), [to] "l"(to), [to_odd] "l"(to + 1), [zero] "l"(p.zero)
        : "cc", "memory");
  }
  if ((p.count & 1) != 0) *to = p.zero[*from];
}

#else

void look_up(const ActivationPlan& p) { look_up_words(p); }

#endif

void execute(const void* plan) { look_up(*static_cast<const ActivationPlan*>(plan)); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_ACTIVATION_KERNELS, scalar)

}  // namespace cormorant::ops
