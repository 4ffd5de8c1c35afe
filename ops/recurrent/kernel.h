// SPDX-License-Identifier: Apache-2.0
//
// The plan of a recurrent layer, for every variant's execute(), and the order in which all of them go through batch and
// steps.
#pragma once

#include "ops/recurrent/recurrent.h"
#include "runtime/kernel.h"

namespace cormorant::ops::recurrent {

struct Plan {
  static constexpr std::uint32_t kStateBytes = 36;
  const void* input;
  const void* h;          // null: zeros
  const std::int16_t* c;  // null: zeros, or there is none
  const std::byte* packed;
  std::byte* scratch;
  void* states;
  std::int16_t* last;
  std::uint32_t steps;
  std::uint32_t batch;

  [[nodiscard]] const PackedHeader& header() const { return *reinterpret_cast<const PackedHeader*>(packed); }
};

Error load_scalar(Call& call);
Error load_dsp_pairs(Call& call);
Error load_dsp_wide(Call& call);
Error load_mve(Call& call);
Error load_scalar_words(Call& call);
Error load_dsp_words(Call& call);
Error load_mve_words(Call& call);

// One batch row in progress; activations are int8 or int16.
template <class Element>
struct Row {
  PackedHeader header;      // a copy: a byte store could change the constant
  const std::byte* groups;  // the first record
  Element* vector;          // [input | h]
  std::int16_t* sums;
  std::int16_t* kept;  // the 16-bit state: the result `last`
};

// Variant provides: multiply(row) from vector to sums; step(row, states) from sums to kept, h in the vector and states;
// narrow(row, h) from 16-bit h to h in the vector; copy(to, from, bytes); Element.
template <class Variant>
inline void run(const Plan& p) {
  using Element = typename Variant::Element;
  const PackedHeader header = p.header();
  const Geometry geometry{static_cast<Kind>(header.kind), static_cast<Layout>(header.layout), header.inputs,
                          header.units};
  const std::uint32_t units = header.units;
  Row<Element> row{header, p.packed + sizeof(PackedHeader), reinterpret_cast<Element*>(p.scratch),
                   reinterpret_cast<std::int16_t*>(p.scratch + geometry.sums_offset()), p.last};
  const auto* const input = static_cast<const Element*>(p.input);
  auto* const states = static_cast<Element*>(p.states);
  Element* const h = row.vector + header.inputs;
  const bool is_lstm = geometry.kind == Kind::lstm;
  const bool backwards = (header.flags & kBackwards) != 0;
  for (std::uint32_t b = 0; b < p.batch; ++b, row.kept += units) {
    // h is read before anything is written: its memory may be that of a result.
    const void* given = p.c == nullptr ? nullptr : p.c + b * units;
    if (is_lstm && p.h != nullptr) {
      const auto* const given_h = static_cast<const Element*>(p.h) + b * units;
      if constexpr (sizeof(Element) == 1) {
        Variant::copy(h, given_h, units);
      } else {
        Variant::narrow(row, given_h);
      }
    } else if (is_lstm) {
      for (std::uint32_t u = 0; u < units; ++u) h[u] = header.h_zero_point;
    } else if (p.h != nullptr) {
      given = static_cast<const std::int16_t*>(p.h) + b * units;
    }
    if (given == nullptr) {
      for (std::uint32_t u = 0; u < units; ++u) row.kept[u] = 0;
    } else if (given != row.kept) {
      Variant::copy(row.kept, given, 2 * units);
    }
    if (!is_lstm) Variant::narrow(row, row.kept);
    for (std::uint32_t k = 0; k < p.steps; ++k) {
      const std::uint32_t at = (backwards ? p.steps - 1 - k : k) * p.batch + b;
      Variant::copy(row.vector, input + at * header.inputs, sizeof(Element) * header.inputs);
      Variant::multiply(row);
      Variant::step(row, states + at * units);
    }
  }
}

}  // namespace cormorant::ops::recurrent
