// SPDX-License-Identifier: Apache-2.0
//
// Four bytes at a time, at any address: SSUB8 records in the GE flags which bytes of self are not less, SEL selects by
// them.
#include "ops/minimum_maximum/kernel.h"

namespace cormorant::ops::minimum_maximum {
namespace {

template <bool kMinimum>
inline std::uint32_t choose_word(std::uint32_t self, std::uint32_t other) {
  std::uint32_t unused;
  std::uint32_t chosen;
  asm("ssub8 %[unused], %[self], %[other]\n"
      "sel %[chosen], %[not_less], %[less]\n"
      : [chosen] "=r"(chosen), [unused] "=&r"(unused)
      :
      [self] "r"(self), [other] "r"(other), [not_less] "r"(kMinimum ? other : self), [less] "r"(kMinimum ? self : other)
      : "cc");
  return chosen;
}

inline std::uint32_t load_word(const std::int8_t* address) {
  std::uint32_t word;
  __builtin_memcpy(&word, address, sizeof word);
  return word;
}

template <bool kMinimum, bool kRepeats>
void choose(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const std::uint32_t count = static_cast<const Plan*>(plan)->tensors.count;
  const std::uint32_t one = static_cast<std::uint8_t>(*other) * 0x01010101U;
  std::uint32_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const std::uint32_t word = choose_word<kMinimum>(load_word(self + i), kRepeats ? one : load_word(other + i));
    __builtin_memcpy(out + i, &word, sizeof word);
  }
  for (; i < count; ++i) {
    const std::int8_t x = self[i];
    const std::int8_t y = other[kRepeats ? 0 : i];
    out[i] = (x < y) == kMinimum ? x : y;
  }
}

template <bool kMinimum>
void execute(const void* plan) {
  const Broadcast& b = static_cast<const Plan*>(plan)->tensors;
  run_stretches(b, b.other_repeats ? choose<kMinimum, true> : choose<kMinimum, false>, plan);
}

}  // namespace

constexpr auto* execute_minimum = execute<true>;
constexpr auto* execute_maximum = execute<false>;
CORMORANT_KERNELS(CORMORANT_MINIMUM_MAXIMUM_KERNELS, dsp)

}  // namespace cormorant::ops::minimum_maximum
