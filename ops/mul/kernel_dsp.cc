// SPDX-License-Identifier: Apache-2.0
//
// Four elements at a time: SXTB16 and SADD16 compute differences as halves, SMULBB and SMULTT their products. One
// factor is doubled, so that SMMLAR directly gives the doubling high multiply, v. For shifts to the right by n,
//   level = saturate_int8((v + (v >> 31) + 2^(n-1) + zero point · 2^n) >> n)
// in four instructions: the second term makes ties of negative numbers round down. The sign of the product serves as
// well as that of v, since one less than 2^(n-1) still rounds to zero.
#include <arm_acle.h>

#include <bit>

#include "base/fixed_point.h"
#include "ops/mul/kernel.h"

namespace cormorant::ops::mul {
namespace {

// Beyond it the zero point's shift overflows; such products are next to nothing.
constexpr std::int32_t kMaxShift = 22;

inline std::int32_t level_of(std::int32_t doubled, std::int32_t multiplier, std::int32_t offset, std::int32_t shift) {
  std::int32_t v;
  asm("add %[v], %[offset], %[doubled], asr #31\n\t"
      "smmlar %[v], %[doubled], %[multiplier], %[v]\n\t"
      "asr %[v], %[v], %[shift]\n\t"
      "ssat %[v], #8, %[v]"
      : [v] "=&r"(v)
      : [doubled] "r"(doubled), [multiplier] "r"(multiplier), [offset] "r"(offset), [shift] "r"(shift));
  return v;
}

inline std::uint32_t load_word(const std::int8_t* address) {
  std::uint32_t word;
  __builtin_memcpy(&word, address, sizeof word);
  return word;
}

// The bytes 0 and 2, or 1 and 3, as halves minus the zero point.
inline int16x2_t even(std::uint32_t word, int16x2_t offset) {
  return __sadd16(__sxtb16(static_cast<int8x4_t>(word)), offset);
}
inline int16x2_t odd(std::uint32_t word, int16x2_t offset) { return even(std::rotr(word, 8), offset); }

inline std::int32_t bottom_product(int16x2_t x, int16x2_t y) {
  std::int32_t product;
  asm("smulbb %0, %1, %2" : "=r"(product) : "r"(x), "r"(y));
  return product;
}
inline std::int32_t top_product(int16x2_t x, int16x2_t y) {
  std::int32_t product;
  asm("smultt %0, %1, %2" : "=r"(product) : "r"(x), "r"(y));
  return product;
}

inline int16x2_t in_both(std::int32_t value) {
  return static_cast<int16x2_t>(static_cast<std::uint16_t>(value) * 0x10001U);
}

template <bool kRepeats>
void multiply(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const Plan p = *static_cast<const Plan*>(plan);
  const std::int32_t right = -p.shift;
  const std::int32_t offset = (1 << (right - 1)) + shift_left(p.output_zero_point, right);
  const auto store = [&](std::int8_t* to, std::int32_t doubled) {
    *to = static_cast<std::int8_t>(level_of(doubled, p.multiplier, offset, right));
  };
  const int16x2_t self_offset = in_both(-p.self_zero_point);
  const int16x2_t other_offset = in_both(-p.other_zero_point);
  int16x2_t y02 = in_both((*other - p.other_zero_point) * 2);
  int16x2_t y13 = y02;
  std::uint32_t i = 0;
  for (; i + 4 <= p.tensors.count; i += 4) {
    const std::uint32_t x = load_word(self + i);
    const int16x2_t x02 = even(x, self_offset);
    const int16x2_t x13 = odd(x, self_offset);
    if constexpr (!kRepeats) {
      const std::uint32_t y = load_word(other + i);
      y02 = even(y, other_offset);
      y13 = odd(y, other_offset);
      y02 = __sadd16(y02, y02);
      y13 = __sadd16(y13, y13);
    }
    store(out + i, bottom_product(x02, y02));
    store(out + i + 1, bottom_product(x13, y13));
    store(out + i + 2, top_product(x02, y02));
    store(out + i + 3, top_product(x13, y13));
  }
  for (; i < p.tensors.count; ++i) {
    store(out + i, (self[i] - p.self_zero_point) * (other[kRepeats ? 0 : i] - p.other_zero_point) * 2);
  }
}

void multiply_any(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const Plan p = *static_cast<const Plan*>(plan);
  const std::uint32_t step = p.tensors.other_repeats ? 0 : 1;
  for (std::uint32_t i = 0; i < p.tensors.count; ++i, other += step) {
    const std::int32_t product = (self[i] - p.self_zero_point) * (*other - p.other_zero_point);
    const std::int32_t level = requantize(product, p.multiplier, p.shift);
    out[i] = static_cast<std::int8_t>(
        clamp(level, p.activation_min - p.output_zero_point, p.activation_max - p.output_zero_point) +
        p.output_zero_point);
  }
}

// The fast loops saturate to int8; tighter bounds are rare and cost a second pass.
void clamp_output(const Plan& p) {
  if (p.activation_min == -128 && p.activation_max == 127) return;
  std::int8_t* out = p.tensors.out;
  const std::int32_t low = p.activation_min;
  const std::int32_t high = p.activation_max;
  for (std::uint32_t left = elements_of(p.tensors); left != 0; --left, ++out)
    *out = static_cast<std::int8_t>(clamp(*out, low, high));
}

void execute(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  if (!p.is_simple() || p.shift < -kMaxShift || !p.is_narrow()) {
    run_stretches(p.tensors, multiply_any, plan);
  } else {
    run_stretches(p.tensors, p.tensors.other_repeats ? multiply<true> : multiply<false>, plan);
    clamp_output(p);
  }
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_MUL_KERNELS, dsp)

}  // namespace cormorant::ops::mul
