// SPDX-License-Identifier: Apache-2.0
//
// Rows one after the other, an element at a time: the specification as the reference instantiates it, and the kernels
// of CPUs without vectors. Statistics(row, size) gives {Σ q, Σ q²}.
#pragma once

#include "ops/layer_norm/arithmetic.h"
#include "ops/layer_norm/kernel.h"

namespace cormorant::ops::layer_norm {

struct Sums {
  std::int32_t sum = 0;
  std::int32_t squares = 0;
};

template <auto Multiply, auto Statistics>
void normalise_rows(const Plan& p) {
  const Header& h = p.header();
  const std::uint32_t parameters = h.groups * h.channels;
  const auto size = static_cast<std::int32_t>(h.size());
  const auto shift = static_cast<std::int32_t>(h.shift);
  const std::int8_t* input = p.input;
  std::int8_t* out = p.out;
  for (std::uint32_t o = 0; o < p.outer; ++o) {
    const std::int32_t* gamma = p.gammas();
    for (std::uint32_t group = 0; group < h.groups; ++group) {
      const Sums sums = Statistics(input, h.size());
      const Row row = row_of<Multiply>(h, sums.sum, sums.squares);
      for (std::uint32_t channel = 0; channel < h.channels; ++channel, ++gamma) {
        const std::int32_t factor = gamma[0];
        const std::int32_t term = gamma[parameters];
        for (std::uint32_t i = 0; i < h.inner; ++i)
          *out++ = element<Multiply>(row, size, *input++, factor, term, shift);
      }
    }
  }
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
