// SPDX-License-Identifier: Apache-2.0
//
// Without an FPU: the product of a 16-bit integer and a float's mantissa has at most 40 bits; it is rounded to 24 and
// packed here, in integers, instead of by a library conversion and multiplication per element.
#include <bit>

#include "ops/dequantize/kernel.h"

namespace cormorant::ops {
namespace {

// mantissa · 2^exponent as a float, with the exponent biased so that a mantissa of 24 bits is stored unchanged. At
// least 24 bits; `sticky`: the exact mantissa is slightly larger.
inline std::uint32_t round_to_float(std::uint32_t mantissa, bool sticky, std::uint32_t exponent) {
  std::uint32_t surplus = mantissa >> 24;
  std::uint32_t amount = 0;  // how many bits the surplus has
  if (surplus >= 16) {
    surplus >>= 4;
    amount = 4;
  }
  if (surplus >= 4) {
    surplus >>= 2;
    amount += 2;
  }
  amount += surplus - (surplus & (surplus >> 1));
  std::uint32_t rounded = mantissa >> amount;
  const std::uint32_t half = (std::uint32_t{1} << amount) >> 1;
  const std::uint32_t cut = mantissa - (rounded << amount);
  if (cut > half || (cut == half && amount != 0 && (sticky || (rounded & 1) != 0))) ++rounded;
  // The leading one of `rounded` counts as one exponent step, and so does a carry out of the rounding.
  return ((exponent + amount - 1) << 23) + rounded;
}

// The bits of difference · scale; |difference| < 2^16, the scale normal and positive.
inline std::uint32_t product_bits(std::int32_t difference, std::uint32_t scale_bits) {
  const auto sign = static_cast<std::uint32_t>(difference >> 31);
  const std::uint32_t factor = (static_cast<std::uint32_t>(difference) ^ sign) - sign;
  if (factor == 0) return 0;
  const std::uint32_t mantissa = (scale_bits & 0x7FFFFF) | 0x800000;
  const std::uint32_t exponent = scale_bits >> 23;
  std::uint32_t magnitude;
  if (factor < 256) {  // all of int8
    magnitude = round_to_float(factor * mantissa, false, exponent);
  } else {
    const std::uint32_t low = factor * (mantissa & 0xFF);
    const std::uint32_t high = factor * (mantissa >> 8) + (low >> 8);  // the product's bits from the ninth on
    magnitude = (high >> 24) != 0 ? round_to_float(high, (low & 0xFF) != 0, exponent + 8)
                                  : round_to_float(factor * mantissa, false, exponent);
  }
  return magnitude | (sign & 0x80000000U);
}

void execute(const void* plan) {
  const auto& p = *static_cast<const DequantizePlan*>(plan);
  const auto scale = std::bit_cast<std::uint32_t>(p.scale);
  auto* output = reinterpret_cast<std::uint32_t*>(p.output);
  const auto* narrow = static_cast<const std::int8_t*>(p.input);
  const auto* wide = static_cast<const std::int16_t*>(p.input);
  for (std::uint32_t i = 0; i < p.count; ++i) {
    const std::int32_t value = p.wide ? wide[i] : narrow[i];
    output[i] = product_bits(value - p.zero_point, scale);
  }
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_DEQUANTIZE_KERNELS, scalar)

}  // namespace cormorant::ops
