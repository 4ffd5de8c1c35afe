// SPDX-License-Identifier: Apache-2.0
#include "ops/add/reference.h"

#include "base/fixed_point.h"
#include "ops/add/float.h"
#include "ops/host/references.h"

namespace cormorant::ops::add {
namespace {

// Sums wrap as the hardware's do: a file may hold any multipliers.
std::int32_t wrapping_add(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

std::int32_t rescaled(std::int8_t value, const Rescale& to) {
  return requantize(shift_left(value - to.zero_point, kLeftShift), to.multiplier, to.shift);
}

template <class P>
void add_all(const P& plan) {
  for_each_stretch(plan.tensors, [&](const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
    for (std::uint32_t i = 0; i < plan.tensors.count; ++i)
      out[i] = add_one(plan, self[i], other[plan.tensors.other_repeats ? 0 : i]);
  });
}

}  // namespace

std::int8_t add_one(const Plan& p, std::int8_t self, std::int8_t other) {
  const std::int32_t sum = wrapping_add(rescaled(self, p.self), rescaled(other, p.other));
  const std::int32_t level = wrapping_add(requantize(sum, p.output.multiplier, p.output.shift), p.output.zero_point);
  return static_cast<std::int8_t>(clamp(level, p.activation_min, p.activation_max));
}

std::int8_t add_one(const FactorPlan& p, std::int8_t self, std::int8_t other) {
  const std::int32_t level = (self * p.self_factor + other * p.other_factor + p.offset) >> p.shift;
  return static_cast<std::int8_t>(clamp(level, p.activation_min, p.activation_max));
}

void reference(const Plan& plan) { add_all(plan); }
void reference(const FactorPlan& plan) { add_all(plan); }

namespace {

void execute(const void* plan) { reference(*static_cast<const Plan*>(plan)); }
void execute_factor(const void* plan) { reference(*static_cast<const FactorPlan*>(plan)); }
void execute_words(const void* raw) {
  const auto& p = *static_cast<const WordsPlan*>(raw);
  for_each_stretch<std::int16_t>(
      p.tensors, [&](const std::int16_t* self, const std::int16_t* other, std::int16_t* out) {
        for (std::uint32_t i = 0; i < p.tensors.count; ++i) {
          const std::int32_t sum = self[i] * p.self_factor + other[p.tensors.other_repeats ? 0 : i] * p.other_factor;
          out[i] = static_cast<std::int16_t>(clamp((sum + p.offset) >> p.shift, p.activation_min, p.activation_max));
        }
      });
}

}  // namespace

CORMORANT_REFERENCES(add, CORMORANT_ADD_KERNELS)

}  // namespace cormorant::ops::add
