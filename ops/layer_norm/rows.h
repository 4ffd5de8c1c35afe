// SPDX-License-Identifier: Apache-2.0
//
// Rows one after another, an element at a time: the specification as the reference instantiates it, and the kernels of
// CPUs without vectors. Statistics(row, size) gives the row's sums.
#pragma once

#include "ops/layer_norm/arithmetic.h"
#include "ops/layer_norm/kernel.h"

namespace cormorant::ops::layer_norm {

// Walks rows and channels: begin(sums) for a row, then run(row, input, out, count, gamma, beta) for `inner` neighbours
// with one γ and β.
template <auto Statistics, class Element, class Begin, class Run>
void for_channels(const PlanOf<Element>& p, Begin begin, Run run) {
  const Header& h = p.header();
  const std::uint32_t parameters = h.groups * h.channels;
  const Element* input = p.input;
  Element* out = p.out;
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

template <auto Multiply, auto Statistics, class Element>
void normalize_rows(const PlanOf<Element>& p) {
  const Header& h = p.header();
  for_channels<Statistics>(
      p, [&](const SumsOf<Element>& sums) { return row_of<Multiply>(h, sums); },
      [&](const Row& row, const Element* input, Element* out, std::uint32_t count, const std::int32_t* gamma,
          const std::int32_t* beta, std::uint32_t step) {
        const auto size = static_cast<std::int32_t>(h.size());
        const auto shift = static_cast<std::int32_t>(h.shift);
        for (; count > 0; --count, gamma += step, beta += step) {
          *out++ = element<Multiply, Element>(row, size, *input++, *gamma, *beta, shift);
        }
      });
}

// The same if a doubled operand fits 32 bits, which it does for all sound constants (layer_norm.h: values stay below
// 2^29 if no shift to the right is needed): Quick(2 · a, b) is the doubling high multiply of a and b.
template <auto Quick, auto Statistics, class Element>
void normalize_rows_quickly(const PlanOf<Element>& p) {
  const Header& h = p.header();
  for_channels<Statistics>(
      p, [&](const SumsOf<Element>& sums) { return row_of<doubling_high_multiply>(h, sums); },
      [&](const Row& row, const Element* input, Element* out, std::uint32_t count, const std::int32_t* gamma,
          const std::int32_t* beta, std::uint32_t step) {
        const auto size = static_cast<std::int32_t>(h.size());
        const auto shift = static_cast<std::int32_t>(h.shift);
        const std::int32_t mean = row.mean;
        const std::int32_t root = row.root;
        const std::int32_t left = row.left;
        if (left < 0 || left > 30) {  // relevant for the longest rows, and for those without any variance
          for (; count > 0; --count, gamma += step, beta += step) {
            *out++ = element<doubling_high_multiply, Element>(row, size, *input++, *gamma, *beta, shift);
          }
          return;
        }
        for (; count > 0; --count, gamma += step, beta += step) {
          const std::int32_t d = size * *input++ - mean;
          const std::int32_t value = Quick(shift_left(d, left + 1), root);
          const std::int32_t sum = wrapping_sum(Quick(shift_left(value, 1), *gamma), *beta);
          *out++ = saturated<Element>(sum >> shift);
        }
      });
}

template <class Element>
SumsOf<Element> plain_statistics(const Element* row, std::uint32_t size) {
  SumsOf<Element> sums;
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::int32_t q = row[i];
    sums.sum += q;
    sums.squares += q * q;
  }
  return sums;
}

}  // namespace cormorant::ops::layer_norm
