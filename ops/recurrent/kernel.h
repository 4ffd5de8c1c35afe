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
template <Layout layout>
Error load_relu(Call& call);
template <Layout layout>
Error load_projected(Call& call);

// One batch row in progress; activations are int8 or int16.
template <class Element>
struct Row {
  PackedHeader header;      // a copy: a byte store could change the constant
  const std::byte* groups;  // the first record
  Element* vector;          // [input | h]
  std::int16_t* sums;
  std::int16_t* kept;  // the 16-bit state: the result `last`
};

// h of one row of the batch, which has the states' own integers, to the vector.
template <class Variant>
inline void begin_with_own_h(const Row<typename Variant::Element>& row, const void* given, std::uint32_t b,
                             std::uint32_t outputs) {
  using Element = typename Variant::Element;
  Element* const h = row.vector + row.header.inputs;
  if (given != nullptr) {
    Variant::copy(h, static_cast<const Element*>(given) + b * outputs, sizeof(Element) * outputs);
  } else {
    for (std::uint32_t u = 0; u < outputs; ++u) h[u] = row.header.h_zero_point;
  }
}

// Variant provides: multiply(row, outputs) from vector, whose h has that many elements, to sums; step(row, states) from
// sums to kept, h in the vector and states; narrow(row, h) from 16-bit h to h in the vector; copy(to, from, bytes);
// Element.
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
      Variant::multiply(row, units);
      Variant::step(row, states + at * units);
    }
  }
}

// An RNN with relu. Variant provides, besides multiply and copy, relu(row, states) from sums to h in the vector and
// states.
template <class Variant>
inline void run_relu(const Plan& p) {
  using Element = typename Variant::Element;
  const PackedHeader header = p.header();
  const Geometry geometry{Kind::rnn_relu, static_cast<Layout>(header.layout), header.inputs, header.units};
  const std::uint32_t units = header.units;
  const Row<Element> row{header, p.packed + sizeof(PackedHeader), reinterpret_cast<Element*>(p.scratch),
                         reinterpret_cast<std::int16_t*>(p.scratch + geometry.sums_offset()), nullptr};
  const auto* const input = static_cast<const Element*>(p.input);
  auto* const states = static_cast<Element*>(p.states);
  for (std::uint32_t b = 0; b < p.batch; ++b) {
    begin_with_own_h<Variant>(row, p.h, b, units);
    for (std::uint32_t k = 0; k < p.steps; ++k) {
      const std::uint32_t at = ((header.flags & kBackwards) != 0 ? p.steps - 1 - k : k) * p.batch + b;
      Variant::copy(row.vector, input + at * header.inputs, sizeof(Element) * header.inputs);
      Variant::multiply(row, units);
      Variant::relu(row, states + at * units);
    }
  }
}

// An LSTM with a projection. Variant provides, besides multiply and copy: cells(row) from sums to kept, and o · tanh c
// to the first sums; project(words, block, record, from, to), with the geometry of its records, from that to h as
// int16; finish(row, from, outputs, states) from that to h in the vector and states.
template <class Variant>
inline void run_projected(const Plan& p) {
  using Element = typename Variant::Element;
  const ProjectedHeader header = *reinterpret_cast<const ProjectedHeader*>(p.packed);
  const std::uint32_t units = header.layer.units, inputs = header.layer.inputs, outputs = header.outputs;
  const Geometry geometry{Kind::lstm, static_cast<Layout>(header.layer.layout), inputs, units, outputs};
  const Block projection = geometry.projection();
  Row<Element> row{header.layer, p.packed + sizeof(ProjectedHeader), reinterpret_cast<Element*>(p.scratch),
                   reinterpret_cast<std::int16_t*>(p.scratch + geometry.sums_offset()), p.last};
  const std::byte* records = row.groups;  // of the projection, after the layer's own
  for (std::uint32_t k = 0; k < geometry.blocks(); ++k) {
    const Block block = geometry.block(k);
    records += std::size_t{geometry.groups(block)} * geometry.record_bytes(block);
    asm("" : "+r"(records));  // clang would sum these few by vectors, in a kilobyte of code
  }
  const Geometry words = geometry.in_words();
  std::int16_t* const projected = row.sums + round_up_4(units);
  const auto* const input = static_cast<const Element*>(p.input);
  auto* const states = static_cast<Element*>(p.states);
  for (std::uint32_t b = 0; b < p.batch; ++b, row.kept += units) {
    begin_with_own_h<Variant>(row, p.h, b, outputs);
    if (p.c == nullptr) {
      for (std::uint32_t u = 0; u < units; ++u) row.kept[u] = 0;
    } else if (p.c + b * units != row.kept) {
      Variant::copy(row.kept, p.c + b * units, 2 * units);
    }
    for (std::uint32_t k = 0; k < p.steps; ++k) {
      const std::uint32_t at = ((header.layer.flags & kBackwards) != 0 ? p.steps - 1 - k : k) * p.batch + b;
      Variant::copy(row.vector, input + at * inputs, sizeof(Element) * inputs);
      Variant::multiply(row, outputs);
      Variant::cells(row);
      Variant::project(words, projection, records, row.sums, projected);
      Variant::finish(row, projected, outputs, states + at * outputs);
    }
  }
}

}  // namespace cormorant::ops::recurrent
