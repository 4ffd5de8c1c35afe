// SPDX-License-Identifier: Apache-2.0
//
// What follows the products of a step, eight units at a time. Functions are two gather loads from the table, and linear
// interpolation.
#pragma once

#include <arm_mve.h>

#include "ops/recurrent/arithmetic.h"
#include "ops/recurrent/kernel.h"

namespace cormorant::ops::recurrent {

// From `table` on, at the indices: the entry, plus a fraction, in 15 bits, of the difference to the next one.
inline int16x8_t on_line(const std::int16_t* table, uint16x8_t index, int16x8_t share) {
  const int16x8_t from = vldrhq_gather_shifted_offset_s16(table, index);
  const int16x8_t to = vldrhq_gather_shifted_offset_s16(table + 1, index);
  return vaddq_s16(from, vqrdmulhq_s16(vsubq_s16(to, from), share));
}
inline uint16x8_t from_lowest(int16x8_t x) { return veorq_u16(vreinterpretq_u16_s16(x), vdupq_n_u16(0x8000)); }
inline int16x8_t without_sign(int16x8_t x) {
  return vreinterpretq_s16_u16(vbicq_n_u16(vreinterpretq_u16_s16(x), 0x8000));
}

// Functions::tanh and sigmoid.
inline int16x8_t tanh_of(int16x8_t x) {
  return on_line(kTanh.at, vshrq_n_u16(from_lowest(x), 8), without_sign(vshlq_n_s16(x, 7)));
}
inline int16x8_t sigmoid_of(int16x8_t x) {
  const int16x8_t t = on_line(kTanh.at + 64, vshrq_n_u16(from_lowest(x), 9), without_sign(vshlq_n_s16(x, 6)));
  return vhaddq_s16(t, vdupq_n_s16(32767));
}
// WideFunctions::tanh and sigmoid.
inline int16x8_t fine_tanh_of(int16x8_t x) {
  return on_line(kFineTanh.at, vshrq_n_u16(from_lowest(x), 7), without_sign(vshlq_n_s16(x, 8)));
}
inline int16x8_t wide_sigmoid_of(int16x8_t x) { return vhaddq_s16(fine_tanh_of(x), vdupq_n_s16(32767)); }

// Eight units, of which p says how many exist: their sums, and what is kept.
struct Eight {
  const std::int16_t* sums;
  std::uint32_t units;
  mve_pred16_t p;
  [[nodiscard]] int16x8_t sum(std::uint32_t gate) const { return vldrhq_z_s16(sums + gate * units, p); }
};

template <class Level>
inline int16x8_t lstm_units(const Level& level, const Eight& of, int16x8_t& c) {
  const int16x8_t fresh = level.as_cell(vqrdmulhq_s16(Level::sigmoid(of.sum(0)), Level::tanh(of.sum(2))));
  c = vqaddq_s16(vqrdmulhq_s16(Level::sigmoid(of.sum(1)), c), fresh);
  return vqrdmulhq_s16(Level::sigmoid(of.sum(3)), Level::tanh(level.as_sum(c)));
}
template <class Level>
inline int16x8_t gru_units(const Eight& of, int16x8_t h) {
  const int16x8_t sum = vqaddq_s16(of.sum(2), vqrdmulhq_s16(Level::sigmoid(of.sum(0)), of.sum(3)));
  const int16x8_t n = Level::tanh(Level::kShift == 0 ? sum : vqshlq_n_s16(sum, Level::kShift));
  const int16x8_t kept = Level::sigmoid(of.sum(1));
  const int16x8_t rest = vsubq_s16(vdupq_n_s16(32767), kept);
  return vqaddq_s16(vqrdmulhq_s16(kept, h), vqrdmulhq_s16(rest, n));
}

// `Level` says what h is in the vector and among the states: its Element, of(h), and store(to, h, lanes); how its sums
// become gates; and what bits c has: as_cell() of a product, as_sum() for a function.
template <class Level, Kind kind>
inline void step_units(const Row<typename Level::Element>& row, typename Level::Element* states) {
  const Level level(row.header);
  typename Level::Element* h_of_vector = row.vector + row.header.inputs;
  std::int16_t* kept = row.kept;
  Eight of{row.sums, row.header.units, 0};
  for (auto left = static_cast<std::int32_t>(of.units); left > 0; left -= 8) {
    of.p = vctp16q(static_cast<std::uint32_t>(left));
    int16x8_t state = vldrhq_z_s16(kept, of.p);
    int16x8_t h;
    if constexpr (kind == Kind::lstm) {
      h = lstm_units(level, of, state);
    } else if constexpr (kind == Kind::gru) {
      h = state = gru_units<Level>(of, state);
    } else {
      h = state = Level::tanh(of.sum(0));
    }
    vstrhq_p_s16(kept, state, of.p);
    h = level.of(h);
    Level::store(h_of_vector, h, of.p);
    Level::store(states, h, of.p);
    of.sums += 8;
    kept += 8;
    h_of_vector += 8;
    states += 8;
  }
}

template <class Level>
inline void step_units(const Row<typename Level::Element>& row, typename Level::Element* states) {
  switch (static_cast<Kind>(row.header.kind)) {
    case Kind::lstm:
      return step_units<Level, Kind::lstm>(row, states);
    case Kind::gru:
      return step_units<Level, Kind::gru>(row, states);
    case Kind::rnn:
      return step_units<Level, Kind::rnn>(row, states);
    case Kind::rnn_relu:
      return;  // by kernels of its own
  }
}

template <class Level>
inline void narrow_units(const Row<typename Level::Element>& row, const std::int16_t* from) {
  const Level level(row.header);
  typename Level::Element* to = row.vector + row.header.inputs;
  for (std::int32_t left = row.header.units; left > 0; left -= 8, from += 8, to += 8) {
    const mve_pred16_t p = vctp16q(static_cast<std::uint32_t>(left));
    Level::store(to, level.of(vldrhq_z_s16(from, p)), p);
  }
}

// An LSTM's units, whose o · tanh c replaces their first sums.
template <class Level>
inline void cell_units(const PackedHeader& header, std::int16_t* sums, std::int16_t* kept) {
  const Level level(header);
  Eight of{sums, header.units, 0};
  for (auto left = static_cast<std::int32_t>(of.units); left > 0; left -= 8, kept += 8, sums += 8) {
    of.p = vctp16q(static_cast<std::uint32_t>(left));
    int16x8_t c = vldrhq_z_s16(kept, of.p);
    of.sums = sums;
    vstrhq_p_s16(sums, lstm_units(level, of, c), of.p);
    vstrhq_p_s16(kept, c, of.p);
  }
}

// From `count` numbers to h in the vector and among the states.
template <class Level>
inline void finish_units(const Row<typename Level::Element>& row, const std::int16_t* from, std::uint32_t count,
                         typename Level::Element* states) {
  const Level level(row.header);
  typename Level::Element* h_of_vector = row.vector + row.header.inputs;
  for (auto left = static_cast<std::int32_t>(count); left > 0; left -= 8) {
    const mve_pred16_t p = vctp16q(static_cast<std::uint32_t>(left));
    const int16x8_t h = level.of(vldrhq_z_s16(from, p));
    Level::store(h_of_vector, h, p);
    Level::store(states, h, p);
    from += 8;
    h_of_vector += 8;
    states += 8;
  }
}

inline int16x8_t at_least_zero(int16x8_t x) { return vmaxq_s16(x, vdupq_n_s16(0)); }

// Products of int16 with groups of eight rows of one block (kernel_mve_words.cc).
struct WordGroups {
  const std::int16_t* x;
  std::uint32_t turns;  // length / 16
  std::uint32_t rest;   // length % 16
  const std::byte* record;
  std::int16_t* out;
  std::uint32_t count;  // of groups, at least one
  std::uint32_t adds;   // to what `out` has: kAdds and its shift; 0: not
};
inline constexpr std::uint32_t kAdds = 256;  // beside what a shift by a register sees
void run_word_groups(WordGroups* groups);
inline void project_groups(const Block& block, std::uint32_t groups, const std::byte* record, const std::int16_t* from,
                           std::int16_t* to) {
  WordGroups all{from, block.length / 16, block.length % 16, record, to, groups, 0};
  run_word_groups(&all);
}

inline void copy_bytes(void* to, const void* from, std::uint32_t bytes) {
  asm volatile(
      "dlstp.8 lr, %[bytes]\n"
      "1:\n\t"
      "vldrb.u8 q0, [%[from]], #16\n\t"
      "vstrb.8 q0, [%[to]], #16\n\t"
      "letp lr, 1b"
      : [to] "+&r"(to), [from] "+&r"(from)
      : [bytes] "r"(bytes)
      : "q0", "lr", "memory");
}

}  // namespace cormorant::ops::recurrent
