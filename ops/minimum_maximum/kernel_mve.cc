// SPDX-License-Identifier: Apache-2.0
//
// Sixteen bytes per turn of a tail-predicated loop, which gcc 12 does not generate from the C++ form:
//   for (; count > 0; count -= 16, self += 16, other += 16, out += 16) {
//     const mve_pred16_t p = vctp8q(count);
//     vstrbq_p_s8(out, vminq_s8(vldrbq_z_s8(self, p), vldrbq_z_s8(other, p)), p);
//   }
#include "ops/minimum_maximum/kernel.h"

namespace cormorant::ops::minimum_maximum {
namespace {

// clang-format off
#define CORMORANT_CHOOSE(name, instruction)                                                                       \
  void name(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {              \
    asm volatile("wlstp.8 lr, %[count], 2f\n"                                                                     \
                 "1: vldrb.u8 q0, [%[self]], #16\n\t"                                                             \
                 "vldrb.u8 q1, [%[other]], #16\n\t"                                                               \
                 instruction " q0, q0, q1\n\t"                                                                    \
                 "vstrb.8 q0, [%[out]], #16\n\t"                                                                  \
                 "letp lr, 1b\n"                                                                                  \
                 "2:"                                                                                             \
                 : [self] "+&r"(self), [other] "+&r"(other), [out] "+&r"(out)                                        \
                 : [count] "r"(static_cast<const Plan*>(plan)->tensors.count)                                     \
                 : "q0", "q1", "lr", "memory");                                                                   \
  }                                                                                                               \
  void name##_one(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {        \
    asm volatile("vdup.8 q1, %[other]\n\t"                                                                        \
                 "wlstp.8 lr, %[count], 2f\n"                                                                     \
                 "1: vldrb.u8 q0, [%[self]], #16\n\t"                                                             \
                 instruction " q0, q0, q1\n\t"                                                                    \
                 "vstrb.8 q0, [%[out]], #16\n\t"                                                                  \
                 "letp lr, 1b\n"                                                                                  \
                 "2:"                                                                                             \
                 : [self] "+&r"(self), [out] "+&r"(out)                                                             \
                 : [count] "r"(static_cast<const Plan*>(plan)->tensors.count), [other] "r"(std::int32_t{*other})  \
                 : "q0", "q1", "lr", "memory");                                                                   \
  }                                                                                                               \
  void execute_##name(const void* plan) {                                                                         \
    const Broadcast& b = static_cast<const Plan*>(plan)->tensors;                                                 \
    run_stretches(b, b.other_repeats ? name##_one : name, plan);                                                  \
  }
// clang-format on

CORMORANT_CHOOSE(minimum, "vmin.s8")
CORMORANT_CHOOSE(maximum, "vmax.s8")
#undef CORMORANT_CHOOSE

}  // namespace

CORMORANT_KERNELS(CORMORANT_MINIMUM_MAXIMUM_KERNELS, mve)

}  // namespace cormorant::ops::minimum_maximum
