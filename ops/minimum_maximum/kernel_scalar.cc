// SPDX-License-Identifier: Apache-2.0
#include "kernels/bytes_scalar.h"
#include "ops/minimum_maximum/kernel.h"

namespace cormorant::ops::minimum_maximum {
namespace {

template <bool kMinimum>
void choose(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const Broadcast& b = static_cast<const Plan*>(plan)->tensors;
  const std::int32_t step = b.other_repeats ? 0 : 1;
  const auto addresses = reinterpret_cast<std::uintptr_t>(self) | reinterpret_cast<std::uintptr_t>(out) |
                         (b.other_repeats ? 0 : reinterpret_cast<std::uintptr_t>(other));
  const std::int8_t* const end = self + b.count;
  if (b.count >= 4 && can_access_words(addresses)) {
    std::uint32_t y = in_all_bytes(*other);
    for (const std::int8_t* const whole = self + b.count / 4 * 4; self != whole; self += 4, out += 4) {
      if (!b.other_repeats) {
        y = load_four(other);
        other += 4;
      }
      const std::uint32_t x = load_four(self);
      store_four(out, kMinimum ? min_of_bytes(x, y) : max_of_bytes(x, y));
    }
  }
  for (; self != end; ++self, other += step, ++out) {
    const std::int8_t x = *self;
    const std::int8_t y = *other;
    *out = (x < y) == kMinimum ? x : y;
  }
}

void execute_minimum(const void* plan) { run_stretches(static_cast<const Plan*>(plan)->tensors, choose<true>, plan); }
void execute_maximum(const void* plan) { run_stretches(static_cast<const Plan*>(plan)->tensors, choose<false>, plan); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_MINIMUM_MAXIMUM_KERNELS, scalar)

}  // namespace cormorant::ops::minimum_maximum
