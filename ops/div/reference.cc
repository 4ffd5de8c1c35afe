// SPDX-License-Identifier: Apache-2.0
#include "base/fixed_point.h"
#include "ops/div/kernel.h"
#include "ops/host/references.h"
#include "ops/load/float_binary.h"

namespace cormorant::ops::div {
namespace {

template <class Element, class F>
void divide_all(const Broadcast& b, F&& divide) {
  for_each_stretch<Element>(b, [&](const Element* self, const Element* other, Element* out) {
    for (std::uint32_t i = 0; i < b.count; ++i)
      out[i] = divide(self[b.self_repeats ? 0 : i], other[b.other_repeats ? 0 : i]);
  });
}

template <class Element>
void divide_in_float(const Plan& p) {
  constexpr std::int32_t kBound = sizeof(Element) == 1 ? 128 : 32768;
  divide_all<Element>(p.tensors, [&](Element self, Element other) {
    const std::int32_t level = float_quotient(self - p.self_zero_point, other - p.other_zero_point, p.scale);
    return static_cast<Element>(clamp(level + p.output_zero_point, -kBound, kBound - 1));
  });
}

void execute(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  (p.wide ? divide_in_float<std::int16_t> : divide_in_float<std::int8_t>)(p);
}

void execute_table(const void* plan) {
  const auto& p = *static_cast<const TablePlan*>(plan);
  const std::int32_t low = p.activation_min - p.output_zero_point;
  const std::int32_t high = p.activation_max - p.output_zero_point;
  divide_all<std::int8_t>(p.tensors, [&](std::int8_t self, std::int8_t other) {
    const std::int32_t level = apply_entry(p.table[other], self - p.self_zero_point);
    return static_cast<std::int8_t>(clamp(level, low, high) + p.output_zero_point);
  });
}

}  // namespace

CORMORANT_REFERENCES(div, CORMORANT_DIV_KERNELS)

}  // namespace cormorant::ops::div
