// SPDX-License-Identifier: Apache-2.0
//
// The integer arithmetic of layer norm: what the reference and all kernels compute.
//
// With stored integers q, S = Σ q and n their number, (x − mean) / √(variance + ε) is d / √V for d = n·q − S and
// V = n·Σ q² − S² + n²·ε / scale². V is exact in 64 bits except for ε. Its reciprocal root, once per row, is a Newton
// iteration; an element then takes two multiplications:
//   value  = d · 1/√V           with Header::fraction fractional bits
//   result = (value · γ + β)    with Header::shift bits; β holds the output's zero point and the half that rounds
// Multiply is doubling_high_multiply or a form of it that suits the CPU; its second operand is never negative.
#pragma once

#include <bit>
#include <cstdint>

#include "base/fixed_point.h"
#include "ops/layer_norm/layer_norm.h"

namespace cormorant::ops::layer_norm {

// 1 / √x for x in [1/4, 1), Q0.31, as Q1.30 in (1, 2): y ← y · (3 − x · y²) / 2, four times from the line
// 2.13 − 1.2 · x, whose error of at most a tenth becomes less than 2^-40. y is Q2.29 on the way.
template <auto Multiply>
constexpr std::int32_t reciprocal_root(std::int32_t x) {
  constexpr std::int32_t kThree = 3 << 27;
  std::int32_t y = 1143534182 - Multiply(644245094, x);  // 2.13 · 2^29, 1.2 · 2^29
  for (int step = 0; step < 4; ++step) {
    const std::int32_t rest = kThree - Multiply(Multiply(y, y), x);  // Q4.27
    y = shift_left(Multiply(y, shift_left(rest, 2)), 1);
  }
  return y >= (1 << 30) ? INT32_MAX : y * 2;
}

// What a row's elements have in common.
struct Row {
  std::int32_t mean;  // S, or n · zero point
  std::int32_t root;  // 1/√V, Q1.30 …
  std::int32_t left;  // … to be multiplied with d shifted left by this; negative: right
};

// Σ q and Σ q² of a row.
template <class Element>
struct SumsOf {
  std::int32_t sum = 0;
  std::int64_t squares = 0;
};
template <>
struct SumsOf<std::int8_t> {
  std::int32_t sum = 0;
  std::int32_t squares = 0;
};
using Sums = SumsOf<std::int8_t>;
using WordsSums = SumsOf<std::int16_t>;

template <auto Multiply, class Element>
constexpr Row row_of(const Header& h, const SumsOf<Element>& sums) {
  const auto size = static_cast<std::int32_t>(h.size());
  std::int64_t spread;  // n · Σ (q − centre)²
  std::int32_t mean;
  if (h.subtracts_mean != 0) {
    mean = sums.sum;
    spread = size * std::int64_t{sums.squares} - std::int64_t{sums.sum} * sums.sum;
  } else {
    mean = size * h.zero_point;
    const std::int64_t moved =
        // NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result): a zero point has at most 16 bits.
        std::int64_t{sums.squares} - std::int64_t{2 * h.zero_point} * sums.sum + std::int64_t{mean} * h.zero_point;
    spread = size * moved;
  }
  constexpr std::int32_t kFraction = variance_bits<Element>();
  std::uint64_t v = (static_cast<std::uint64_t>(spread) << kFraction) + h.epsilon;
  if (v == 0) v = 1;
  const auto shift = static_cast<std::int32_t>(static_cast<std::uint32_t>(std::countl_zero(v)) & ~1U);
  const auto x = static_cast<std::int32_t>((v << shift) >> 33);  // V = x · 2^(2 · exponent), x in [1/4, 1)
  const std::int32_t exponent = (64 - shift - kFraction) / 2;
  const std::int32_t left = h.fraction + 1 - exponent;
  return {mean, reciprocal_root<Multiply>(x), clamp(left, -31, 31)};
}

// Wraps like the hardware's addition: a damaged constant may hold anything.
constexpr std::int32_t wrapping_sum(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

template <class Element>
constexpr Element saturated(std::int32_t value) {
  constexpr std::int32_t kBound = sizeof(Element) == 1 ? 128 : 32768;
  return static_cast<Element>(clamp(value, -kBound, kBound - 1));
}

template <auto Multiply, class Element>
constexpr Element element(const Row& row, std::int32_t size, std::int32_t q, std::int32_t gamma, std::int32_t beta,
                          std::int32_t shift) {
  const std::int32_t d = size * q - row.mean;
  const std::int32_t value = Multiply(row.left >= 0 ? shift_left(d, row.left) : d >> -row.left, row.root);
  const std::int32_t product = gamma < 0 ? Multiply(-value, wrapping_sum(~gamma, 1)) : Multiply(value, gamma);
  const std::int32_t sum = wrapping_sum(product, beta);
  return saturated<Element>(sum >> shift);
}

}  // namespace cormorant::ops::layer_norm
