// SPDX-License-Identifier: Apache-2.0
#include "base/fixed_point.h"
#include "kernels/requantize.h"
#include "ops/add/kernel.h"

namespace cormorant::ops::add {
namespace {

// sum >> 22 as an int8: one instruction where there is SSAT (which gcc 12 does not find), else a comparison that nearly
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

void add_plain(const FactorPlan& plan, const std::int8_t* self, std::int8_t* out) {
  const FactorPlan p = plan;  // in registers: a store through out could otherwise change it
  const auto sum = [&](std::int32_t x, std::int32_t y) {
    return shifted_down<kHasLongMultiply>(x * p.self_factor + p.offset + y * p.other_factor);
  };
  const std::int8_t* other = p.tensors.other;
  const std::int8_t* const end = self + p.tensors.count;
  const std::int8_t* const whole = self + p.tensors.count / 4 * 4;
  for (; self != whole; self += 4, other += 4, out += 4) {
    out[0] = sum(self[0], other[0]);
    out[1] = sum(self[1], other[1]);
    out[2] = sum(self[2], other[2]);
    out[3] = sum(self[3], other[3]);
  }
  for (; self != end; ++self, ++other, ++out) *out = sum(*self, *other);
}

void add_clamped(const FactorPlan& plan, const std::int8_t* self, std::int8_t* out) {
  const FactorPlan p = plan;
  for (std::uint32_t i = 0; i < p.tensors.count; ++i) {
    const std::int32_t sum = self[i] * p.self_factor + p.offset + p.tensors.other[i] * p.other_factor;
    out[i] = static_cast<std::int8_t>(clamp(sum >> p.shift, p.activation_min, p.activation_max));
  }
}

void execute_factor(const void* plan) {
  const auto& p = *static_cast<const FactorPlan*>(plan);
  const auto stretch = p.is_plain() ? add_plain : add_clamped;
  for (std::uint32_t r = 0; r < p.tensors.repeat; ++r) {
    stretch(p, p.tensors.self + r * p.tensors.count, p.tensors.out + r * p.tensors.count);
  }
}

// An operand's rescaling with a multiplier that is not negative: the sign goes to the left shift.
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

void execute(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  const Operand self(p.self);
  const Operand other(p.other);
  const std::int8_t* a = p.tensors.self;
  std::int8_t* out = p.tensors.out;
  for (std::uint32_t r = 0; r < p.tensors.repeat; ++r) {
    for (std::uint32_t i = 0; i < p.tensors.count; ++i) {
      const std::int32_t sum = self.rescaled(*a++) + other.rescaled(p.tensors.other[i]);
      const std::int32_t level = requantize_for_cpu(sum, p.output.multiplier, p.output.shift) + p.output.zero_point;
      *out++ = static_cast<std::int8_t>(clamp(level, p.activation_min, p.activation_max));
    }
  }
}

}  // namespace
}  // namespace cormorant::ops::add

CORMORANT_KERNEL(cormorant_add_scalar, "cormorant::add.scalar", cormorant::ops::add::load_factor,
                 cormorant::ops::add::execute_factor)
CORMORANT_KERNEL(cortex_m_quantized_add_out_scalar, "cortex_m::quantized_add.out", cormorant::ops::add::load,
                 cormorant::ops::add::execute)
