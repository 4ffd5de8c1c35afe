// SPDX-License-Identifier: Apache-2.0
//
// The plan of a recurrent layer, for every variant's execute(), and the order in which all of them go through batch and
// steps.
#pragma once

#include "ops/recurrent/recurrent.h"
#include "runtime/kernel.h"

namespace cormorant::ops::recurrent {

struct Plan {
  const std::int8_t* input;
  const void* h;          // null: zeros
  const std::int16_t* c;  // null: zeros, or there is none
  const std::byte* packed;
  std::byte* scratch;
  std::int8_t* states;
  std::int16_t* last;
  std::uint32_t steps;
  std::uint32_t batch;

  [[nodiscard]] const PackedHeader& header() const { return *reinterpret_cast<const PackedHeader*>(packed); }
};

Error load_scalar(Call& call);
Error load_dsp_pairs(Call& call);
Error load_dsp_wide(Call& call);
Error load_mve(Call& call);

// One batch row in progress.
struct Row {
  PackedHeader header;      // a copy: a byte store could change the constant
  const std::byte* groups;  // the first record
  std::int8_t* vector;      // [input | h]
  std::int16_t* sums;
  std::int16_t* kept;  // the 16-bit state: the result `last`
};

// Variant provides: multiply(row) from vector to sums; step(row, states) from sums to kept, h in the vector and states;
// narrow(row) from kept to h in the vector; copy(to, from, bytes).
template <class Variant>
inline void run(const Plan& p) {
  const PackedHeader header = p.header();
  const Geometry geometry{static_cast<Kind>(header.kind), static_cast<Layout>(header.layout), header.inputs,
                          header.units};
  const std::uint32_t units = header.units;
  Row row{header, p.packed + sizeof(PackedHeader), reinterpret_cast<std::int8_t*>(p.scratch),
          reinterpret_cast<std::int16_t*>(p.scratch + geometry.sums_offset()), p.last};
  std::int8_t* const h = row.vector + header.inputs;
  const bool is_lstm = geometry.kind == Kind::lstm;
  const bool backwards = (header.flags & kBackwards) != 0;
  for (std::uint32_t b = 0; b < p.batch; ++b, row.kept += units) {
    // h is read before anything is written: its memory may be that of a result.
    const void* given = p.c == nullptr ? nullptr : p.c + b * units;
    if (is_lstm && p.h != nullptr) {
      Variant::copy(h, static_cast<const std::int8_t*>(p.h) + b * units, units);
    } else if (is_lstm) {
      for (std::uint32_t u = 0; u < units; ++u) h[u] = header.h_zero_point;
    } else if (p.h != nullptr) {
      given = static_cast<const std::int16_t*>(p.h) + b * units;
    }
    if (given == nullptr) {
      for (std::uint32_t u = 0; u < units; ++u) row.kept[u] = 0;
    } else if (given != row.kept) {
      Variant::copy(reinterpret_cast<std::int8_t*>(row.kept), static_cast<const std::int8_t*>(given), 2 * units);
    }
    if (!is_lstm) Variant::narrow(row);
    for (std::uint32_t k = 0; k < p.steps; ++k) {
      const std::uint32_t at = (backwards ? p.steps - 1 - k : k) * p.batch + b;
      Variant::copy(row.vector, p.input + at * header.inputs, header.inputs);
      Variant::multiply(row);
      Variant::step(row, p.states + at * units);
    }
  }
}

}  // namespace cormorant::ops::recurrent
