// SPDX-License-Identifier: Apache-2.0
//
// Rows one after another, an element at a time: the specification as the reference instantiates it, and the kernels of
// CPUs without vectors. Statistics(row, size) gives {Σ q, Σ q²}.
#pragma once

#include "ops/layer_norm/arithmetic.h"
#include "ops/layer_norm/kernel.h"

namespace cormorant::ops::layer_norm {

struct Sums {
  std::int32_t sum = 0;
  std::int32_t squares = 0;
};

// Walks rows and channels: begin(sums) for a row, then run(row, input, out, count, gamma, beta) for `inner` neighbours
// with one γ and β.
template <auto Statistics, class Begin, class Run>
void for_channels(const Plan& p, Begin begin, Run run) {
  const Header& h = p.header();
  const std::uint32_t parameters = h.groups * h.channels;
  const std::int8_t* input = p.input;
  std::int8_t* out = p.out;
  for (std::uint32_t o = 0; o < p.outer; ++o) {
    const std::int32_t* gamma = p.gammas();
    for (std::uint32_t group = 0; group < h.groups; ++group) {
      const Row row = begin(Statistics(input, h.size()));
      if (h.inner == 1) {  // all of a row's channels at once
        run(row, input, out, h.channels, gamma, gamma + parameters, 1U);
        gamma += h.channels;
        input += h.channels;
        out += h.channels;
        continue;
      }
      for (std::uint32_t channel = 0; channel < h.channels; ++channel, ++gamma) {
        run(row, input, out, h.inner, gamma, gamma + parameters, 0U);
        input += h.inner;
        out += h.inner;
      }
    }
  }
}

template <auto Multiply, auto Statistics>
void normalise_rows(const Plan& p) {
  const Header& h = p.header();
  for_channels<Statistics>(
      p, [&](const Sums& sums) { return row_of<Multiply>(h, sums.sum, sums.squares); },
      [&](const Row& row, const std::int8_t* input, std::int8_t* out, std::uint32_t count, const std::int32_t* gamma,
          const std::int32_t* beta, std::uint32_t step) {
        const auto size = static_cast<std::int32_t>(h.size());
        const auto shift = static_cast<std::int32_t>(h.shift);
        for (; count > 0; --count, gamma += step, beta += step) {
          *out++ = element<Multiply>(row, size, *input++, *gamma, *beta, shift);
        }
      });
}

// The same where a doubled operand fits 32 bits, which it does for all sound constants (layer_norm.h: values stay below
// 2^29 where no shift to the right is needed): Quick(2 · a, b) is the doubling high multiply of a and b.
template <auto Quick, auto Statistics>
void normalise_rows_quickly(const Plan& p) {
  const Header& h = p.header();
  for_channels<Statistics>(
      p, [&](const Sums& sums) { return row_of<doubling_high_multiply>(h, sums.sum, sums.squares); },
      [&](const Row& row, const std::int8_t* input, std::int8_t* out, std::uint32_t count, const std::int32_t* gamma,
          const std::int32_t* beta, std::uint32_t step) {
        const auto size = static_cast<std::int32_t>(h.size());
        const auto shift = static_cast<std::int32_t>(h.shift);
        const std::int32_t mean = row.mean;
        const std::int32_t root = row.root;
        const std::int32_t left = row.left;
        if (left < 0 || left > 30) {  // relevant for the longest rows, and for those without any variance
          for (; count > 0; --count, gamma += step, beta += step) {
            *out++ = element<doubling_high_multiply>(row, size, *input++, *gamma, *beta, shift);
          }
          return;
        }
        for (; count > 0; --count, gamma += step, beta += step) {
          const std::int32_t d = size * *input++ - mean;
          const std::int32_t value = Quick(shift_left(d, left + 1), root);
          const std::int32_t sum = wrapping_sum(Quick(shift_left(value, 1), *gamma), *beta);
          *out++ = static_cast<std::int8_t>(clamp(sum >> shift, -128, 127));
        }
      });
}

inline Sums plain_statistics(const std::int8_t* row, std::uint32_t size) {
  Sums sums;
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::int32_t q = row[i];
    sums.sum += q;
    sums.squares += q * q;
  }
  return sums;
}

}  // namespace cormorant::ops::layer_norm
