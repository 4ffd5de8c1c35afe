// SPDX-License-Identifier: Apache-2.0
//
// With the FPU that cores of this kind have: VCVTR rounds as FPSCR says (to nearest, ties to even, as after reset),
// saturates and turns NaN into 0, which is the whole specification except for the bounds. In firmware that does not use
// it (-mfloat-abi=soft), as without one.
#include "ops/quantize/without_fpu.h"

namespace cormorant::ops {
namespace {

#if defined(__ARM_FP)
inline std::int32_t round_to_int(float value) {
  float bits;
  asm("vcvtr.s32.f32 %0, %1" : "=t"(bits) : "t"(value));
  return std::bit_cast<std::int32_t>(bits);
}

inline std::int32_t saturating_add(std::int32_t a, std::int32_t b) {
  std::int32_t sum;
  asm("qadd %0, %1, %2" : "=r"(sum) : "r"(a), "r"(b));
  return sum;
}

// Bounds equal to the element type's, which is what quantizers use.
void quantize_to_full_i8(const QuantizePlan& p) {
  const float* input = p.input;
  auto* output = static_cast<std::int8_t*>(p.output);
  const float inverse_scale = p.inverse_scale;
  const std::int32_t zero_point = p.zero_point;
  const auto quantize_one = [&](float value) {
    std::int32_t q = saturating_add(round_to_int(value * inverse_scale), zero_point);
    asm("ssat %0, #8, %0" : "+r"(q));
    return static_cast<std::int8_t>(q);
  };
  std::uint32_t left = p.count;
  for (; left >= 4; left -= 4, input += 4, output += 4) {
    output[0] = quantize_one(input[0]);
    output[1] = quantize_one(input[1]);
    output[2] = quantize_one(input[2]);
    output[3] = quantize_one(input[3]);
  }
  for (; left != 0; --left) *output++ = quantize_one(*input++);
}

template <class T>
void quantize(const QuantizePlan& p) {
  auto* output = static_cast<T*>(p.output);
  const float inverse_scale = p.inverse_scale;
  const std::int32_t zero_point = p.zero_point;
  const std::int32_t low = p.low;
  const std::int32_t high = p.high;
  for (std::uint32_t i = 0; i < p.count; ++i) {
    const std::int32_t rounded = round_to_int(p.input[i] * inverse_scale);
    output[i] = static_cast<T>(clamp(saturating_add(rounded, zero_point), low, high));
  }
}

void execute(const void* plan) {
  const auto& p = *static_cast<const QuantizePlan*>(plan);
  if (p.wide) {
    quantize<std::int16_t>(p);
  } else if (p.low == -128 && p.high == 127) {
    quantize_to_full_i8(p);
  } else {
    quantize<std::int8_t>(p);
  }
}
#else
void execute(const void* plan) { execute_without_fpu(*static_cast<const QuantizePlan*>(plan)); }
#endif

}  // namespace

CORMORANT_KERNELS(CORMORANT_QUANTIZE_KERNELS, dsp)

}  // namespace cormorant::ops
