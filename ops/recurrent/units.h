// SPDX-License-Identifier: Apache-2.0
//
// What follows the products of a step, unit by unit, for instruction sets without vectors.
#pragma once

#include "ops/recurrent/arithmetic.h"
#include "ops/recurrent/kernel.h"

namespace cormorant::ops::recurrent {

// `Level` is Narrow or Kept: what h is in the vector and among the states.
template <class Saturation, class Level>
inline void narrow_units(const Row<typename Level::Element>& row, const std::int16_t* from) {
  const Level level(row.header);
  typename Level::Element* const h = row.vector + row.header.inputs;
  for (std::uint32_t u = 0; u < row.header.units; ++u) h[u] = level.template of<Saturation>(from[u]);
}

// `at` gives the next state and h of the unit whose sums begin at a pointer.
template <class Saturation, class Level, class At>
inline void step_units(const Row<typename Level::Element>& row, typename Level::Element* states, At at) {
  using Element = typename Level::Element;
  const Level level(row.header);
  const std::int16_t* sums = row.sums;
  std::int16_t* kept = row.kept;
  std::int16_t* const end = kept + row.header.units;
  Element* h = row.vector + row.header.inputs;
  while (kept < end) {
    std::int16_t state = *kept;
    const Element next = level.template of<Saturation>(at(sums++, state));
    *kept++ = state;
    *h++ = next;
    *states++ = next;
  }
}

// An LSTM's units, whose o · tanh c replaces their first sums. `F` are the functions of its gates.
template <class Saturation, class F>
[[gnu::noinline, gnu::flatten]] void cell_units(const PackedHeader& header, std::int16_t* sums, std::int16_t* kept) {
  F f;
  asm("" : "+r"(f.middle));
  const std::uint32_t units = header.units;
  const std::int32_t finer = finer_cell<F>(header);
  for (std::int16_t* const end = kept + units; kept < end; ++kept, ++sums) {
    std::int16_t c = *kept;
    *sums = static_cast<std::int16_t>(
        lstm_unit<Saturation>(f, finer, sums[0], sums[units], sums[2 * units], sums[3 * units], c));
    *kept = c;
  }
}

// `Level` is Relu, WideRelu, Projected or WideProjected: what h is, made of one of `count` numbers.
template <class Saturation, class Level>
inline void finish_units(const Row<typename Level::Element>& row, const std::int16_t* from, std::uint32_t count,
                         typename Level::Element* states) {
  const Level level(row.header);
  typename Level::Element* h = row.vector + row.header.inputs;
  for (const std::int16_t* const end = from + count; from < end; ++from) {
    *h++ = *states++ = level.template of<Saturation>(*from);
  }
}

// Apart from the products' loops, and with all that it calls, so that its loops have the registers.
template <class Saturation, class Level>
[[gnu::noinline, gnu::flatten]] void step_units(const Row<typename Level::Element>& row,
                                                typename Level::Element* states) {
  typename Level::Gates f;
  asm("" : "+r"(f.middle));  // an index from the middle is signed: compilers would add 128 to each
  const std::uint32_t units = row.header.units;
  const auto kind = static_cast<Kind>(row.header.kind);
  if (kind == Kind::lstm) {
    const std::int32_t finer = finer_cell<typename Level::Gates>(row.header);
    step_units<Saturation, Level>(row, states, [=](const std::int16_t* sum, std::int16_t& c) {
      return lstm_unit<Saturation>(f, finer, sum[0], sum[units], sum[2 * units], sum[3 * units], c);
    });
  } else if (kind == Kind::gru) {
    step_units<Saturation, Level>(row, states, [=](const std::int16_t* sum, std::int16_t& h) {
      return gru_unit<Saturation>(f, sum[0], sum[units], sum[2 * units], sum[3 * units], h);
    });
  } else {
    step_units<Saturation, Level>(row, states,
                                  [=](const std::int16_t* sum, std::int16_t& h) { return rnn_unit(f, sum[0], h); });
  }
}

}  // namespace cormorant::ops::recurrent
