// SPDX-License-Identifier: Apache-2.0
//
// Four bytes at a time: SSUB8 records in the GE flags which bytes are not less, SEL selects by them. The last word may
// extend past the tensor's end by up to three bytes, so those go one by one.
#include "base/fixed_point.h"
#include "ops/clamp/kernel.h"

namespace cormorant::ops {
namespace {

inline std::uint32_t clamp_word(std::uint32_t bytes, std::uint32_t low, std::uint32_t high) {
  std::uint32_t unused;
  asm("ssub8 %[unused], %[bytes], %[low]\n"
      "sel %[bytes], %[bytes], %[low]\n"
      "ssub8 %[unused], %[bytes], %[high]\n"
      "sel %[bytes], %[high], %[bytes]\n"
      : [bytes] "+&r"(bytes), [unused] "=&r"(unused)
      : [low] "r"(low), [high] "r"(high)
      : "cc");
  return bytes;
}

inline std::uint32_t in_all_bytes(std::int8_t value) { return static_cast<std::uint8_t>(value) * 0x01010101U; }

void execute(const void* plan) {
  const auto& p = *static_cast<const ClampPlan*>(plan);
  const std::uint32_t low = in_all_bytes(p.low);
  const std::uint32_t high = in_all_bytes(p.high);
  const auto* from = reinterpret_cast<const std::uint32_t*>(p.input);
  auto* to = reinterpret_cast<std::uint32_t*>(p.output);
  const std::uint32_t words = p.count / 4;
  for (std::uint32_t i = 0; i < words; ++i) to[i] = clamp_word(from[i], low, high);
  for (std::uint32_t i = words * 4; i < p.count; ++i) {
    p.output[i] = static_cast<std::int8_t>(clamp(p.input[i], p.low, p.high));
  }
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_CLAMP_KERNELS, dsp)

}  // namespace cormorant::ops
