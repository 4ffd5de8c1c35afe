// SPDX-License-Identifier: Apache-2.0
#include "base/fixed_point.h"
#include "kernels/requantize.h"
#include "ops/add/kernel.h"

namespace cormorant::ops::add {
namespace {

// sum >> 22 as an int8: one instruction if there is SSAT (which gcc 12 does not find), else a comparison that nearly
// always falls through.
template <bool kHasSsat>
inline std::int8_t shifted_down(std::int32_t sum) {
  if constexpr (kHasSsat) {
    std::int32_t level;
    asm("ssat %0, #8, %1, asr %2" : "=r"(level) : "r"(sum), "i"(kShifts[0]));
    return static_cast<std::int8_t>(level);
  } else {
    const std::int32_t level = sum >> kShifts[0];
    const auto narrow = static_cast<std::int8_t>(level);
    return narrow == level ? narrow : static_cast<std::int8_t>((level >> 31) ^ 127);
  }
}

// If other repeats, its product is part of the offset.
template <bool kRepeats>
void add_plain(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const FactorPlan p = *static_cast<const FactorPlan*>(plan);  // in registers: a store to out could otherwise change it
  const std::int32_t offset = p.offset + (kRepeats ? *other * p.other_factor : 0);
  const auto sum = [&](std::int32_t i) {
    return shifted_down<kHasLongMultiply>(self[i] * p.self_factor + offset +
                                          (kRepeats ? 0 : other[i] * p.other_factor));
  };
  const std::int8_t* const end = self + p.tensors.count;
  const std::int8_t* const whole = self + p.tensors.count / 4 * 4;
  for (; self != whole; self += 4, out += 4) {
    out[0] = sum(0);
    out[1] = sum(1);
    out[2] = sum(2);
    out[3] = sum(3);
    if constexpr (!kRepeats) other += 4;
  }
  for (; self != end; ++self, ++out) {
    *out = sum(0);
    if constexpr (!kRepeats) ++other;
  }
}

template <bool kRepeats>
void add_clamped(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const FactorPlan p = *static_cast<const FactorPlan*>(plan);
  const std::int32_t offset = p.offset + (kRepeats ? *other * p.other_factor : 0);
  for (std::uint32_t i = 0; i < p.tensors.count; ++i) {
    const std::int32_t sum = self[i] * p.self_factor + offset + (kRepeats ? 0 : other[i] * p.other_factor);
    out[i] = static_cast<std::int8_t>(clamp(sum >> p.shift, p.activation_min, p.activation_max));
  }
}

void execute_factor(const void* plan) {
  const auto& p = *static_cast<const FactorPlan*>(plan);
  const ComputeStretch one = p.is_plain() ? add_plain<true> : add_clamped<true>;
  const ComputeStretch each = p.is_plain() ? add_plain<false> : add_clamped<false>;
  run_stretches(p.tensors, p.tensors.other_repeats ? one : each, plan);
}

// An operand's rescaling with a non-negative multiplier: the sign goes to the left shift.
struct Operand {
  std::int32_t zero_point;
  std::int32_t factor;
  std::int32_t multiplier;
  std::int32_t shift;

  explicit Operand(const Rescale& r)
      : zero_point(r.zero_point),
        factor(r.multiplier < 0 ? -(1 << kLeftShift) : 1 << kLeftShift),
        multiplier(r.multiplier < 0 ? -r.multiplier : r.multiplier),
        shift(r.shift) {}
  [[nodiscard]] std::int32_t rescaled(std::int8_t value) const {
    return requantize_for_cpu((value - zero_point) * factor, multiplier, shift);
  }
};

void add(const void* plan, const std::int8_t* a, const std::int8_t* b, std::int8_t* out) {
  const Plan p = *static_cast<const Plan*>(plan);
  const Operand self(p.self);
  const Operand other(p.other);
  std::int32_t y = 0;
  for (std::uint32_t i = 0; i < p.tensors.count; ++i) {
    if (i == 0 || !p.tensors.other_repeats) y = other.rescaled(b[i]);
    const std::int32_t sum = self.rescaled(a[i]) + y;
    const std::int32_t level = requantize_for_cpu(sum, p.output.multiplier, p.output.shift) + p.output.zero_point;
    out[i] = static_cast<std::int8_t>(clamp(level, p.activation_min, p.activation_max));
  }
}

void execute(const void* plan) { run_stretches(static_cast<const Plan*>(plan)->tensors, add, plan); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_ADD_KERNELS, scalar)

}  // namespace cormorant::ops::add
