// SPDX-License-Identifier: Apache-2.0
//
// Four elements in 32-bit lanes. Instead of a choice, both parts are multiplied, one of which is zero:
//   sum = min(x, 0) · factor + max(x, 0) · positive_factor + offset
#include "ops/prelu/kernel.h"

namespace cormorant::ops::prelu {
namespace {

// clang-format off
#define CORMORANT_PRELU(load_factors)                                                                          \
  asm volatile("vmov.i32 q3, #0\n\t"                                                                           \
               "vdup.32 q4, %[low]\n\t"                                                                        \
               "vdup.32 q5, %[high]\n\t"                                                                       \
               "ldr lr, [%[factors]]\n\t"                                                                      \
               "vdup.32 q2, lr\n\t"                                                                            \
               "wlstp.32 lr, %[count], 2f\n"                                                                   \
               "1:\n\t"                                                                                        \
               "vldrb.s32 q0, [%[input]], #4\n\t"                                                              \
               load_factors                                                                                    \
               "vadd.i32 q0, q0, %[input_offset]\n\t"                                                          \
               "vmin.s32 q1, q0, q3\n\t"                                                                       \
               "vmax.s32 q0, q0, q3\n\t"                                                                       \
               "vmul.i32 q1, q1, q2\n\t"                                                                       \
               "vmla.u32 q1, q0, %[positive]\n\t"                                                              \
               "vadd.i32 q1, q1, %[offset]\n\t"                                                                \
               "vshl.s32 q1, %[shift]\n\t"                                                                     \
               "vmax.s32 q1, q1, q4\n\t"                                                                       \
               "vmin.s32 q1, q1, q5\n\t"                                                                       \
               "vstrb.32 q1, [%[out]], #4\n\t"                                                                 \
               "letp lr, 1b\n"                                                                                 \
               "2:"                                                                                            \
               : [input] "+&l"(input), [factors] "+&r"(factors), [out] "+&l"(out)                                 \
               : [input_offset] "r"(-std::int32_t{p.input_zero_point}), [positive] "r"(p.positive_factor),     \
                 [offset] "r"(p.offset), [shift] "r"(-std::int32_t{p.shift}),                                  \
                 [low] "r"(std::int32_t{p.activation_min}), [high] "r"(std::int32_t{p.activation_max}),        \
                 [count] "r"(p.tensors.count)                                                                  \
               : "q0", "q1", "q2", "q3", "q4", "q5", "lr", "memory")
// clang-format on

void prelu(const void* plan, const std::int8_t* input, const std::int8_t* factors, std::int8_t* out) {
  const auto& p = *static_cast<const Plan*>(plan);
  CORMORANT_PRELU("vldrw.u32 q2, [%[factors]], #16\n\t");
}

void prelu_one_factor(const void* plan, const std::int8_t* input, const std::int8_t* factors, std::int8_t* out) {
  const auto& p = *static_cast<const Plan*>(plan);
  CORMORANT_PRELU("");
}
#undef CORMORANT_PRELU

void execute(const void* plan) {
  const Broadcast& b = static_cast<const Plan*>(plan)->tensors;
  run_stretches(b, b.other_repeats ? prelu_one_factor : prelu, plan);
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_PRELU_KERNELS, mve)

}  // namespace cormorant::ops::prelu
