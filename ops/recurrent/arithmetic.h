// SPDX-License-Identifier: Apache-2.0
//
// What follows the sums of a recurrent step, in 16 bits throughout: the meaning of every kernel.
//
//   before a function   12 fractional bits: −8 … 8; with 16-bit activations 11: −16 … 16 (but 12 of an LSTM's cell gate
//                       and an RNN)
//   gates, tanh, GRU h  15 fractional bits: −1 … 1
//   LSTM c              11 fractional bits: −16 … 16; with 16-bit activations 12 where it stays small: −8 … 8
//
// tanh is a table of 257 entries over −8 … 8 with linear interpolation, of 513 with 16-bit activations; the sigmoid is
// tanh of the half. The entries are outside the curve by half of the line's largest deviation, so that errors are 6
// units of 2^-15 to either side, or 2.
#pragma once

#include <cstdint>

#include "base/fixed_point.h"
#include "ops/recurrent/recurrent.h"

namespace cormorant::ops::recurrent {

inline constexpr std::int32_t kSumBits = 12;
inline constexpr double kSumScale = 1.0 / (1 << kSumBits);
inline constexpr double kUnitScale = 1.0 / (1 << 15);
inline constexpr double kCellScale = 1.0 / (1 << 11);

// `kSteps` lines on either side of 0.
template <std::int32_t kSteps>
struct TanhTable {
  std::int16_t at[2 * kSteps + 1];
};

// Only for this table, and only at compile time: e^x by its series.
constexpr double exponential(double x) {
  double sum = 1, term = 1;
  for (int k = 1; k < 16; ++k) {
    term *= x / 64 / k;
    sum += term;
  }
  for (int k = 0; k < 6; ++k) sum *= sum;
  return sum;
}

template <std::int32_t kSteps>
constexpr TanhTable<kSteps> make_tanh_table() {
  constexpr double kStep = 8.0 / kSteps;
  TanhTable<kSteps> table{};
  for (std::int32_t k = 0; k <= kSteps; ++k) {
    const double power = exponential(2 * k * kStep);
    const double exact = (power - 1) / (power + 1);
    const double shifted = exact + exact * (1 - exact * exact) * kStep * kStep / 8;  // − step² / 16 · 2nd derivative
    const double scaled = shifted * 32768 + 0.5;
    const auto entry = static_cast<std::int16_t>(scaled > 32767 ? 32767 : static_cast<std::int32_t>(scaled));
    table.at[kSteps + k] = entry;
    table.at[kSteps - k] = static_cast<std::int16_t>(-entry);
  }
  return table;
}
inline constexpr TanhTable<128> kTanh = make_tanh_table<128>();
inline constexpr TanhTable<256> kFineTanh = make_tanh_table<256>();

// Saturation in plain C++; instruction sets may have an instruction for it.
struct PlainSaturation {
  static constexpr std::int32_t to_16(std::int32_t value) { return clamp(value, -32768, 32767); }
  static constexpr std::int32_t to_8(std::int32_t value) { return clamp(value, -128, 127); }
};

// a · b · 2^-15, rounded; never of −32768 twice.
constexpr std::int32_t multiply_16(std::int32_t a, std::int32_t b) { return (a * b + (1 << 14)) >> 15; }

constexpr std::int32_t shift_right_16(std::int32_t value, std::int32_t exponent) {
  return (value + ((1 << exponent) >> 1)) >> exponent;
}

// tanh and sigmoid of x with kSumBits fractional bits; results have 15.
struct Functions {
  static constexpr bool kMayBeFiner = false;    // c
  static constexpr std::int32_t kShift = 0;     // of a GRU's sums to 12 fractional bits
  const std::int16_t* middle = kTanh.at + 128;  // of the table

  [[nodiscard]] constexpr std::int32_t tanh(std::int32_t x) const {
    const std::int16_t* const at = middle + (x >> 8);
    return at[0] + (((at[1] - at[0]) * (x & 255) + 128) >> 8);
  }
  // (32767 + tanh(x / 2)) / 2, rounded down; 32767 is added together with the half for rounding.
  [[nodiscard]] constexpr std::int32_t sigmoid(std::int32_t x) const {
    const std::int16_t* const at = middle + (x >> 9);
    return (at[0] + (((at[1] - at[0]) * (x & 511) + 256 + 32767 * 512) >> 9)) >> 1;
  }
};

// With 16-bit activations sums before a sigmoid have one fractional bit less: at 8 it is 3 · 10^-4 from 1, which is too
// far for a gate that keeps a state for long. What is looked up is then the sum's own tanh. A GRU's new state is made
// of two sums that may be large and cancel: they have one bit less, too.
struct WideFunctions {
  static constexpr bool kMayBeFiner = true;
  static constexpr std::int32_t kShift = 1;
  const std::int16_t* middle = kFineTanh.at + 256;

  [[nodiscard]] constexpr std::int32_t tanh(std::int32_t x) const {
    const std::int16_t* const at = middle + (x >> 7);
    return at[0] + (((at[1] - at[0]) * (x & 127) + 64) >> 7);
  }
  [[nodiscard]] constexpr std::int32_t sigmoid(std::int32_t x) const {
    const std::int16_t* const at = middle + (x >> 7);
    return (at[0] + (((at[1] - at[0]) * (x & 127) + 64 + 32767 * 128) >> 7)) >> 1;
  }
};

// Fractional bits of c beyond 11.
template <class F>
constexpr std::int32_t finer_cell(const PackedHeader& header) {
  return F::kMayBeFiner && (header.flags & kFinerCell) != 0 ? 1 : 0;
}

// One unit: from its sums to the kept state, which it replaces, and h.
template <class Saturation, class F>
constexpr std::int32_t lstm_unit(F f, std::int32_t finer, std::int32_t input, std::int32_t forget, std::int32_t cell,
                                 std::int32_t output, std::int16_t& c) {
  const std::int32_t fresh = shift_right_16(multiply_16(f.sigmoid(input), f.tanh(cell)), 4 - finer);
  const std::int32_t next = Saturation::to_16(multiply_16(f.sigmoid(forget), c) + fresh);
  c = static_cast<std::int16_t>(next);
  return multiply_16(f.sigmoid(output), f.tanh(Saturation::to_16(next * (2 >> finer))));
}
template <class Saturation, class F>
constexpr std::int32_t gru_unit(F f, std::int32_t reset, std::int32_t update, std::int32_t from_input,
                                std::int32_t from_h, std::int16_t& h) {
  const std::int32_t fresh =
      f.tanh(Saturation::to_16((from_input + multiply_16(f.sigmoid(reset), from_h)) * (1 << F::kShift)));
  const std::int32_t kept = f.sigmoid(update);
  h = static_cast<std::int16_t>(Saturation::to_16(multiply_16(kept, h) + multiply_16(32767 - kept, fresh)));
  return h;
}
template <class F>
constexpr std::int32_t rnn_unit(F f, std::int32_t sum, std::int16_t& h) {
  h = static_cast<std::int16_t>(f.tanh(sum));
  return h;
}

// h as int8.
struct Narrow {
  using Element = std::int8_t;
  using Gates = Functions;

  std::int32_t multiplier, shift, half, zero_point;

  constexpr explicit Narrow(const PackedHeader& header)
      : multiplier(header.h_multiplier),
        shift(header.h_shift),
        half((1 << header.h_shift) >> 1),
        zero_point(header.h_zero_point) {}
  template <class Saturation>
  [[nodiscard]] constexpr std::int8_t of(std::int32_t h) const {
    const std::int32_t scaled = (multiply_16(h, multiplier) + half) >> shift;
    return static_cast<std::int8_t>(Saturation::to_8(scaled + zero_point));
  }
};

// h as it is, for 16-bit activations.
struct Kept {
  using Element = std::int16_t;
  using Gates = WideFunctions;
  constexpr explicit Kept(const PackedHeader& /*header*/) {}
  template <class Saturation>
  [[nodiscard]] constexpr std::int16_t of(std::int32_t h) const {
    return static_cast<std::int16_t>(h);
  }
};

// h of an RNN with relu, from its sum: the states' own integers.
struct Relu {
  using Element = std::int8_t;
  std::int32_t zero_point;
  constexpr explicit Relu(const PackedHeader& header) : zero_point(header.h_zero_point) {}
  template <class Saturation>
  [[nodiscard]] constexpr std::int8_t of(std::int32_t sum) const {
    return static_cast<std::int8_t>(Saturation::to_8(shift_right_16(sum < 0 ? 0 : sum, kReluBits) + zero_point));
  }
};
struct WideRelu {
  using Element = std::int16_t;
  constexpr explicit WideRelu(const PackedHeader& /*header*/) {}
  template <class Saturation>
  [[nodiscard]] constexpr std::int16_t of(std::int32_t sum) const {
    return static_cast<std::int16_t>(sum < 0 ? 0 : sum);
  }
};

// h after a projection, from the sum in the states' own steps.
struct Projected {
  using Element = std::int8_t;
  using Gates = Functions;
  std::int32_t zero_point;
  constexpr explicit Projected(const PackedHeader& header) : zero_point(header.h_zero_point) {}
  template <class Saturation>
  [[nodiscard]] constexpr std::int8_t of(std::int32_t sum) const {
    return static_cast<std::int8_t>(Saturation::to_8(sum + zero_point));
  }
};
using WideProjected = Kept;

// With 16-bit activations, what the products of the input and those of h add to a sum meets after scaling. Both may be
// large and cancel, so the first part, which waits as int16, has up to two fractional bits fewer (−32 … 32, before a
// sigmoid −64 … 64), as many as the weights and the input's range ask for; the second one has 32 bits, and only their
// sum saturates.
inline constexpr std::int32_t kPartShift = 2;
constexpr std::int32_t part_shift(const PackedHeader& header) { return kPartShift - header.left; }
template <class Saturation>
constexpr std::int32_t add_part(std::int32_t part, std::int32_t value, std::int32_t shift) {
  return Saturation::to_16(part * (1 << shift) + value);
}

// From a sum with 16-bit activations to 12 fractional bits, or 11. Multipliers are even, so that CPUs without a long
// multiply can use doubling_high_multiply_in_pieces.
constexpr std::int32_t scale_word_sum(std::int32_t sum, std::int32_t multiplier) {
  return doubling_high_multiply(sum, multiplier >> 1);
}

}  // namespace cormorant::ops::recurrent
