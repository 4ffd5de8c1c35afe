// SPDX-License-Identifier: Apache-2.0
#include <arm_mve.h>

#include "kernels/requantize_mve.h"
#include "kernels/sum_mve.h"
#include "ops/add/kernel.h"

namespace cormorant::ops::add {
namespace {

// One vector after another, as in kernels/sum_mve.h, for what is left over and for other clamps. If other repeats, its
// product is part of the offset.
// clang-format off
#define CORMORANT_ONE                        \
  "vldrb.s32 q0, [%[self]], #4\n\t"          \
  "vmlas.u32 q0, q2, %[offset]\n\t"
#define CORMORANT_PLAIN                      \
  "vqshl.s32 q0, q0, %[up]\n\t"              \
  "vshr.s32 q0, q0, #24\n\t"                 \
  "vstrb.32 q0, [%[out]], #4\n\t"
#define CORMORANT_CLAMPED                    \
  "vshl.s32 q0, %[shift]\n\t"                \
  "vmax.s32 q0, q0, q3\n\t"                  \
  "vmin.s32 q0, q0, q4\n\t"                  \
  "vstrb.32 q0, [%[out]], #4\n\t"
#define CORMORANT_ONE_PLAIN CORMORANT_ONE CORMORANT_PLAIN
#define CORMORANT_CLAMPED_LOOP(sum)          \
  "vdup.32 q2, %[self_factor]\n\t"           \
  "vdup.32 q3, %[low]\n\t"                   \
  "vdup.32 q4, %[high]\n\t"                  \
  "wlstp.32 lr, %[count], 2f\n"              \
  "1:\n\t"                                   \
  sum CORMORANT_CLAMPED                      \
  "letp lr, 1b\n"                            \
  "2:"

void add_plain(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const auto& p = *static_cast<const FactorPlan*>(plan);
  if (p.tensors.count >= 16) {
    asm volatile("vdup.32 q2, %[self_factor]\n\t"
                 CORMORANT_SUM_BEGIN("q0")
                 "wls lr, %[turns], 2f\n"
                 "1:\n\t"
                 CORMORANT_SUM_THREE_STEPS
                 CORMORANT_SUM_STEP("q3", "q0")
                 "le lr, 1b\n"
                 "2:\n\t"
                 CORMORANT_SUM_THREE_STEPS
                 CORMORANT_SUM_END("q3")
                 : [self] "+&l"(self), [other] "+&l"(other), [out] "+&l"(out)
                 : [offset] "r"(p.offset), [factor] "r"(p.other_factor), [self_factor] "r"(p.self_factor),
                   [turns] "r"(p.tensors.count / 16 - 1), [up] "r"(24 - p.shift)
                 : "q0", "q1", "q2", "q3", "lr", "memory");
  }
  asm volatile("vdup.32 q2, %[self_factor]\n\t"
               "wlstp.32 lr, %[left], 2f\n"
               "1:\n\t"
               CORMORANT_SUM_BEGIN("q0")
               CORMORANT_SUM_END("q0")
               "letp lr, 1b\n"
               "2:"
               : [self] "+&l"(self), [other] "+&l"(other), [out] "+&l"(out)
               : [offset] "r"(p.offset), [factor] "r"(p.other_factor), [self_factor] "r"(p.self_factor),
                 [left] "r"(p.tensors.count % 16), [up] "r"(24 - p.shift)
               : "q0", "q1", "q2", "lr", "memory");
}

void add_one_plain(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const auto& p = *static_cast<const FactorPlan*>(plan);
  asm volatile("vdup.32 q2, %[self_factor]\n\t"
               "wls lr, %[turns], 2f\n"
               "1:\n\t"
               CORMORANT_ONE_PLAIN CORMORANT_ONE_PLAIN CORMORANT_ONE_PLAIN CORMORANT_ONE_PLAIN
               "le lr, 1b\n"
               "2:\n\t"
               "wlstp.32 lr, %[left], 4f\n"
               "3:\n\t"
               CORMORANT_ONE_PLAIN
               "letp lr, 3b\n"
               "4:"
               : [self] "+&l"(self), [out] "+&l"(out)
               : [offset] "r"(p.offset + *other * p.other_factor), [self_factor] "r"(p.self_factor),
                 [turns] "r"(p.tensors.count / 16), [left] "r"(p.tensors.count % 16), [up] "i"(24 - kShifts[0])
               : "q0", "q2", "lr", "memory");
}

void add_clamped(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const auto& p = *static_cast<const FactorPlan*>(plan);
  asm volatile(CORMORANT_CLAMPED_LOOP(CORMORANT_SUM_BEGIN("q0"))
               : [self] "+&l"(self), [other] "+&l"(other), [out] "+&l"(out)
               : [offset] "r"(p.offset), [factor] "r"(p.other_factor), [self_factor] "r"(p.self_factor),
                 [low] "r"(std::int32_t{p.activation_min}), [high] "r"(std::int32_t{p.activation_max}), [shift] "r"(-p.shift),
                 [count] "r"(p.tensors.count)
               : "q0", "q1", "q2", "q3", "q4", "lr", "memory");
}

void add_one_clamped(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const auto& p = *static_cast<const FactorPlan*>(plan);
  asm volatile(CORMORANT_CLAMPED_LOOP(CORMORANT_ONE)
               : [self] "+&l"(self), [out] "+&l"(out)
               : [offset] "r"(p.offset + *other * p.other_factor), [self_factor] "r"(p.self_factor),
                 [low] "r"(std::int32_t{p.activation_min}), [high] "r"(std::int32_t{p.activation_max}), [shift] "r"(-p.shift),
                 [count] "r"(p.tensors.count)
               : "q0", "q2", "q3", "q4", "lr", "memory");
}

#undef CORMORANT_CLAMPED_LOOP
#undef CORMORANT_ONE_PLAIN
#undef CORMORANT_CLAMPED
#undef CORMORANT_PLAIN
#undef CORMORANT_ONE
// clang-format on

void execute_factor(const void* plan) {
  const auto& p = *static_cast<const FactorPlan*>(plan);
  const ComputeStretch one = p.is_plain() ? add_one_plain : add_one_clamped;
  const ComputeStretch each = p.is_unclamped() ? add_plain : add_clamped;
  run_stretches(p.tensors, p.tensors.other_repeats ? one : each, plan);
}

// The same rescaling in all lanes.
struct Lanes {
  std::int32_t zero_point;
  int32x4_t multiplier;
  int32x4_t left;
  int32x4_t right;

  explicit Lanes(const Rescale& r)
      : zero_point(r.zero_point),
        multiplier(vdupq_n_s32(r.multiplier)),
        left(vdupq_n_s32(r.shift > 0 ? r.shift : 0)),
        right(vdupq_n_s32(r.shift > 0 ? 0 : r.shift)) {}
  [[nodiscard]] int32x4_t rescaled(int32x4_t value) const { return requantize_mve(value, multiplier, left, right); }
  [[nodiscard]] int32x4_t rescaled_operand(int32x4_t value) const {
    return rescaled(vshlq_n_s32(vsubq_n_s32(value, zero_point), kLeftShift));
  }
};

void add(const void* plan, const std::int8_t* a, const std::int8_t* b, std::int8_t* out) {
  const auto& p = *static_cast<const Plan*>(plan);
  const Lanes self(p.self);
  const Lanes other(p.other);
  const Lanes output(p.output);
  const int32x4_t low = vdupq_n_s32(p.activation_min);
  const int32x4_t high = vdupq_n_s32(p.activation_max);
  const int32x4_t one = vdupq_n_s32(*b);
  for (std::uint32_t i = 0; i < p.tensors.count; i += 4) {
    const mve_pred16_t lanes = vctp32q(p.tensors.count - i);
    const int32x4_t x = self.rescaled_operand(vldrbq_z_s32(a + i, lanes));
    const int32x4_t y = other.rescaled_operand(p.tensors.other_repeats ? one : vldrbq_z_s32(b + i, lanes));
    const int32x4_t level = vaddq_n_s32(output.rescaled(vaddq_s32(x, y)), output.zero_point);
    vstrbq_p_s32(out + i, vminq_s32(vmaxq_s32(level, low), high), lanes);
  }
}

void execute(const void* plan) { run_stretches(static_cast<const Plan*>(plan)->tensors, add, plan); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_ADD_KERNELS, mve)

}  // namespace cormorant::ops::add
