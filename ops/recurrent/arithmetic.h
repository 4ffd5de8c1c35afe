// SPDX-License-Identifier: Apache-2.0
//
// What follows the sums of a recurrent step, in 16 bits throughout: the meaning of every kernel.
//
//   before a function   12 bits behind the point: −8 … 8
//   gates, tanh, GRU h  15 bits behind the point: −1 … 1
//   LSTM c              11 bits behind the point: −16 … 16
//
// tanh is a table of 257 entries over −8 … 8 with a line between any two; the sigmoid is tanh of the half. The entries
// lie half of the line's largest deviation outside of the curve, so that errors are 6 units of 2^-15 to either side.
#pragma once

#include <cstdint>

#include "base/fixed_point.h"
#include "ops/recurrent/recurrent.h"

namespace cormorant::ops::recurrent {

inline constexpr std::int32_t kSumBits = 12;
inline constexpr double kSumScale = 1.0 / (1 << kSumBits);
inline constexpr double kUnitScale = 1.0 / (1 << 15);
inline constexpr double kCellScale = 1.0 / (1 << 11);

struct TanhTable {
  std::int16_t at[257];
};

// For this table alone, and at compile time alone: e^x by its series.
constexpr double exponential(double x) {
  double sum = 1, term = 1;
  for (int k = 1; k < 16; ++k) {
    term *= x / 64 / k;
    sum += term;
  }
  for (int k = 0; k < 6; ++k) sum *= sum;
  return sum;
}

constexpr TanhTable make_tanh_table() {
  TanhTable table{};
  for (std::int32_t k = 0; k <= 128; ++k) {
    const double power = exponential(2.0 * k / 16);
    const double exact = (power - 1) / (power + 1);
    const double shifted = exact + exact * (1 - exact * exact) / 2048;  // − step² / 16 · second derivative
    const double scaled = shifted * 32768 + 0.5;
    const auto entry = static_cast<std::int16_t>(scaled > 32767 ? 32767 : static_cast<std::int32_t>(scaled));
    table.at[128 + k] = entry;
    table.at[128 - k] = static_cast<std::int16_t>(-entry);
  }
  return table;
}
inline constexpr TanhTable kTanh = make_tanh_table();

constexpr std::int32_t saturate_16(std::int32_t value) { return clamp(value, -32768, 32767); }

// a · b · 2^-15, rounded; never of −32768 twice.
constexpr std::int32_t multiply_16(std::int32_t a, std::int32_t b) { return (a * b + (1 << 14)) >> 15; }

constexpr std::int32_t shift_right_16(std::int32_t value, std::int32_t exponent) {
  return (value + ((1 << exponent) >> 1)) >> exponent;
}

// x with kSumBits behind the point, results with 15.
constexpr std::int32_t tanh_16(std::int32_t x) {
  const std::int16_t* const at = kTanh.at + 128 + (x >> 8);
  return at[0] + (((at[1] - at[0]) * (x & 255) + 128) >> 8);
}
constexpr std::int32_t sigmoid_16(std::int32_t x) {
  const std::int16_t* const at = kTanh.at + 128 + (x >> 9);
  return (at[0] + (((at[1] - at[0]) * (x & 511) + 256) >> 9) + 32767) >> 1;
}

// One unit: from its sums to the state that is kept, which it replaces, and h.
constexpr std::int32_t lstm_unit(std::int32_t i, std::int32_t f, std::int32_t g, std::int32_t o, std::int16_t& c) {
  const std::int32_t fresh = shift_right_16(multiply_16(sigmoid_16(i), tanh_16(g)), 4);
  const std::int32_t next = saturate_16(multiply_16(sigmoid_16(f), c) + fresh);
  c = static_cast<std::int16_t>(next);
  return multiply_16(sigmoid_16(o), tanh_16(saturate_16(2 * next)));
}
constexpr std::int32_t gru_unit(std::int32_t r, std::int32_t z, std::int32_t from_input, std::int32_t from_h,
                                std::int16_t& h) {
  const std::int32_t n = tanh_16(saturate_16(from_input + multiply_16(sigmoid_16(r), from_h)));
  const std::int32_t kept = sigmoid_16(z);
  h = static_cast<std::int16_t>(saturate_16(multiply_16(kept, h) + multiply_16(32767 - kept, n)));
  return h;
}
constexpr std::int32_t rnn_unit(std::int32_t sum, std::int16_t& h) {
  h = static_cast<std::int16_t>(tanh_16(sum));
  return h;
}

// h as int8.
constexpr std::int8_t narrow_h(std::int32_t h, std::int32_t multiplier, std::int32_t shift, std::int32_t zero_point) {
  return static_cast<std::int8_t>(clamp(shift_right_16(multiply_16(h, multiplier), shift) + zero_point, -128, 127));
}

}  // namespace cormorant::ops::recurrent
