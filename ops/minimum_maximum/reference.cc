// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/host/references.h"
#include "ops/load/float_binary.h"
#include "ops/minimum_maximum/kernel.h"

namespace cormorant::ops::minimum_maximum {
namespace {

template <class F>
void choose(const void* plan, F&& chosen) {
  const Broadcast& b = static_cast<const Plan*>(plan)->tensors;
  for_each_stretch(b, [&](const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
    for (std::uint32_t i = 0; i < b.count; ++i) out[i] = chosen(self[i], other[b.other_repeats ? 0 : i]);
  });
}

void execute_minimum(const void* plan) {
  choose(plan, [](std::int8_t x, std::int8_t y) { return std::min(x, y); });
}
void execute_maximum(const void* plan) {
  choose(plan, [](std::int8_t x, std::int8_t y) { return std::max(x, y); });
}

}  // namespace

CORMORANT_REFERENCES(minimum_maximum, CORMORANT_MINIMUM_MAXIMUM_KERNELS)

}  // namespace cormorant::ops::minimum_maximum
