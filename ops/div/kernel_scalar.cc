// SPDX-License-Identifier: Apache-2.0
//
// The float form is for programs of other compilers. Both run on all cores; DSP instructions have nothing to add.
#include "base/fixed_point.h"
#include "ops/div/kernel.h"

namespace cormorant::ops::div {
namespace {

void divide_by_table(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const TablePlan p = *static_cast<const TablePlan*>(plan);  // in registers: a store to out could otherwise change it
  const std::int32_t low = p.activation_min - p.output_zero_point;
  const std::int32_t high = p.activation_max - p.output_zero_point;
  const std::int32_t self_step = p.tensors.self_repeats ? 0 : 1;
  const std::int32_t other_step = p.tensors.other_repeats ? 0 : 1;
  for (std::uint32_t i = 0; i < p.tensors.count; ++i, self += self_step, other += other_step) {
    const std::int32_t level = apply_entry(p.table[*other], *self - p.self_zero_point);
    out[i] = static_cast<std::int8_t>(clamp(level, low, high) + p.output_zero_point);
  }
}

template <class Element>
void divide(const void* plan, const Element* self, const Element* other, Element* out) {
  constexpr std::int32_t kBound = sizeof(Element) == 1 ? 128 : 32768;
  const Plan p = *static_cast<const Plan*>(plan);
  const std::int32_t self_step = p.tensors.self_repeats ? 0 : 1;
  const std::int32_t other_step = p.tensors.other_repeats ? 0 : 1;
  for (std::uint32_t i = 0; i < p.tensors.count; ++i, self += self_step, other += other_step) {
    const std::int32_t level = float_quotient(*self - p.self_zero_point, *other - p.other_zero_point, p.scale);
    out[i] = static_cast<Element>(clamp(level + p.output_zero_point, -kBound, kBound - 1));
  }
}

void execute_table(const void* plan) {
  run_stretches(static_cast<const TablePlan*>(plan)->tensors, divide_by_table, plan);
}
void execute(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  if (!p.wide) return run_stretches(p.tensors, divide<std::int8_t>, plan);
  for_each_stretch<std::int16_t>(p.tensors, [&](const std::int16_t* self, const std::int16_t* other,
                                                std::int16_t* out) { divide(plan, self, other, out); });
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_DIV_KERNELS, scalar)

}  // namespace cormorant::ops::div
