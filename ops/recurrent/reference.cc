// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "ops/host/references.h"
#include "ops/recurrent/arithmetic.h"
#include "ops/recurrent/kernel.h"

namespace cormorant::ops::recurrent {
namespace {

template <class T>
T load_at(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

std::int32_t wrapping_add(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

std::int32_t weight_at(Layout layout, const std::byte* weights, std::uint32_t index, std::uint32_t row) {
  switch (layout) {
    case Layout::scalar:
    case Layout::scalar_words:
      return load_at<std::uint8_t>(weights + index) - 128;
    case Layout::dsp_pairs: {
      // The upper half of a pair has lost one where the lower half is negative.
      const bool borrowed = row % 2 == 1 && load_at<std::int8_t>(weights + index - 1) < 0;
      return load_at<std::int8_t>(weights + index) + (borrowed ? 1 : 0);
    }
    case Layout::dsp_wide:
      return load_at<std::int16_t>(weights + index);
    case Layout::mve:
    case Layout::dsp_words:
    case Layout::mve_words:
      break;
  }
  return load_at<std::int8_t>(weights + index);
}

std::int32_t scaled(const PackedHeader& header, std::int32_t sum, std::int32_t multiplier) {
  return multiplies_words(static_cast<Layout>(header.layout))
             ? scale_word_sum(sum, multiplier)
             : doubling_high_multiply(shift_left(sum, header.left), multiplier);
}

template <class Level>
struct Reference {
  using Element = typename Level::Element;
  static void copy(void* to, const void* from, std::uint32_t bytes) { std::memmove(to, from, bytes); }

  static void multiply(const Row<Element>& row) {
    const PackedHeader& header = row.header;
    const Geometry geometry{static_cast<Kind>(header.kind), static_cast<Layout>(header.layout), header.inputs,
                            header.units};
    const std::byte* record = row.groups;
    const std::uint32_t group = group_of(geometry.layout);
    for (std::uint32_t k = 0; k < geometry.blocks(); ++k) {
      const Block block = geometry.block(k);
      for (std::uint32_t n = 0; n < block.rows; ++n) {
        const std::byte* const at = record + n / group * geometry.record_bytes(block);
        const std::byte* const weights = at + 4 * group;
        std::int32_t sum = load_at<std::int32_t>(at + 4 * (n % group));
        for (std::uint32_t i = 0; i < block.length; ++i) {
          const std::uint32_t index = geometry.weight_index(block, n % group, i);
          sum = wrapping_add(sum, row.vector[block.first + i] * weight_at(geometry.layout, weights, index, n % group));
        }
        const auto multiplier = load_at<std::int32_t>(weights + geometry.weight_bytes(block) +
                                                      std::size_t{4} * geometry.multiplier_slot(n % group));
        std::int16_t& out = row.sums[block.out + n];
        const std::int32_t value = scaled(header, sum, multiplier);
        out = static_cast<std::int16_t>(block.adds ? add_part<PlainSaturation>(out, value, part_shift(header))
                                                   : PlainSaturation::to_16(value));
      }
      record += std::size_t{geometry.groups(block)} * geometry.record_bytes(block);
    }
  }

  static void narrow(const Row<Element>& row, const std::int16_t* h) {
    const Level level(row.header);
    for (std::uint32_t u = 0; u < row.header.units; ++u) {
      row.vector[row.header.inputs + u] = level.template of<PlainSaturation>(h[u]);
    }
  }

  static void step(const Row<Element>& row, Element* states) {
    const Level level(row.header);
    const std::size_t units = row.header.units;
    for (std::size_t u = 0; u < units; ++u) {
      const std::int16_t* const sum = row.sums + u;
      std::int16_t& kept = row.kept[u];
      std::int32_t h = 0;
      switch (static_cast<Kind>(row.header.kind)) {
        case Kind::lstm:
          h = lstm_unit<PlainSaturation>(typename Level::Gates{}, finer_cell<typename Level::Gates>(row.header), sum[0],
                                         sum[units], sum[2 * units], sum[3 * units], kept);
          break;
        case Kind::gru:
          h = gru_unit<PlainSaturation>(typename Level::Gates{}, sum[0], sum[units], sum[2 * units], sum[3 * units],
                                        kept);
          break;
        case Kind::rnn:
          h = rnn_unit(typename Level::Gates(), sum[0], kept);
          break;
      }
      states[u] = row.vector[row.header.inputs + u] = level.template of<PlainSaturation>(h);
    }
  }
};

void execute_recurrent(const void* plan) { run<Reference<Narrow>>(*static_cast<const Plan*>(plan)); }
void execute_words(const void* plan) { run<Reference<Kept>>(*static_cast<const Plan*>(plan)); }

}  // namespace

constexpr auto* execute_pairs = execute_recurrent;
constexpr auto* execute_wide = execute_recurrent;
CORMORANT_REFERENCES(recurrent, CORMORANT_RECURRENT_KERNELS)

}  // namespace cormorant::ops::recurrent
