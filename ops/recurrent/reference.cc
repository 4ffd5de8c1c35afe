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

template <class Element>
void multiply_block(const Geometry& geometry, const Block& block, std::uint8_t left, const std::byte* record,
                    const Element* x, std::int16_t* results) {
  const std::uint32_t group = group_of(geometry.layout);
  for (std::uint32_t n = 0; n < block.rows; ++n) {
    const std::byte* const at = record + n / group * geometry.record_bytes(block);
    const std::byte* const weights = at + 4 * group;
    std::int32_t sum = load_at<std::int32_t>(at + 4 * (n % group));
    for (std::uint32_t i = 0; i < block.length; ++i) {
      const std::uint32_t index = geometry.weight_index(block, n % group, i);
      sum = wrapping_add(sum, x[i] * weight_at(geometry.layout, weights, index, n % group));
    }
    const auto multiplier = load_at<std::int32_t>(weights + geometry.weight_bytes(block) +
                                                  std::size_t{4} * geometry.multiplier_slot(n % group));
    std::int16_t& out = results[n];
    const std::int32_t value = multiplies_words(geometry.layout)
                                   ? scale_word_sum(sum, multiplier)
                                   : doubling_high_multiply(shift_left(sum, left), multiplier);
    out = static_cast<std::int16_t>(block.adds ? add_part<PlainSaturation>(out, value, kPartShift - left)
                                               : PlainSaturation::to_16(value));
  }
}

// Of h itself, of h after a relu and after a projection.
template <class Level, class ReluLevel, class ProjectedLevel>
struct Reference {
  using Element = typename Level::Element;
  static void copy(void* to, const void* from, std::uint32_t bytes) { std::memmove(to, from, bytes); }

  static void multiply(const Row<Element>& row, std::uint32_t outputs) {
    const PackedHeader& header = row.header;
    const Geometry geometry{static_cast<Kind>(header.kind), static_cast<Layout>(header.layout), header.inputs,
                            header.units, outputs};
    const std::byte* record = row.groups;
    for (std::uint32_t k = 0; k < geometry.blocks(); ++k) {
      const Block block = geometry.block(k);
      multiply_block(geometry, block, header.left, record, row.vector + block.first, row.sums + block.out);
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
        case Kind::rnn_relu:
          return;  // by kernels of its own
      }
      states[u] = row.vector[row.header.inputs + u] = level.template of<PlainSaturation>(h);
    }
  }

  static void relu(const Row<Element>& row, Element* states) {
    finish_with<ReluLevel>(row, row.sums, row.header.units, states);
  }

  static void cells(const Row<Element>& row) {
    const std::size_t units = row.header.units;
    for (std::size_t u = 0; u < units; ++u) {
      std::int16_t* const sum = row.sums + u;
      sum[0] = static_cast<std::int16_t>(
          lstm_unit<PlainSaturation>(typename Level::Gates{}, finer_cell<typename Level::Gates>(row.header), sum[0],
                                     sum[units], sum[2 * units], sum[3 * units], row.kept[u]));
    }
  }
  static void project(const Geometry& geometry, const Block& block, const std::byte* record, const std::int16_t* from,
                      std::int16_t* to) {
    multiply_block(geometry, block, 0, record, from, to);
  }
  static void finish(const Row<Element>& row, const std::int16_t* from, std::uint32_t outputs, Element* states) {
    finish_with<ProjectedLevel>(row, from, outputs, states);
  }

 private:
  template <class L>
  static void finish_with(const Row<Element>& row, const std::int16_t* from, std::uint32_t count, Element* states) {
    const L level(row.header);
    for (std::size_t i = 0; i < count; ++i) {
      states[i] = row.vector[row.header.inputs + i] = level.template of<PlainSaturation>(from[i]);
    }
  }
};
using Bytes = Reference<Narrow, Relu, Projected>;
using Words = Reference<Kept, WideRelu, WideProjected>;

void execute_recurrent(const void* plan) { run<Bytes>(*static_cast<const Plan*>(plan)); }
void execute_words(const void* plan) { run<Words>(*static_cast<const Plan*>(plan)); }
void execute_relu(const void* plan) { run_relu<Bytes>(*static_cast<const Plan*>(plan)); }
void execute_words_relu(const void* plan) { run_relu<Words>(*static_cast<const Plan*>(plan)); }
void execute_projected(const void* plan) { run_projected<Bytes>(*static_cast<const Plan*>(plan)); }
void execute_words_projected(const void* plan) { run_projected<Words>(*static_cast<const Plan*>(plan)); }

}  // namespace

constexpr auto* execute_pairs = execute_recurrent;
constexpr auto* execute_wide = execute_recurrent;
constexpr auto* execute_pairs_relu = execute_relu;
constexpr auto* execute_wide_relu = execute_relu;
constexpr auto* execute_pairs_projected = execute_projected;
constexpr auto* execute_wide_projected = execute_projected;
CORMORANT_REFERENCES(recurrent, CORMORANT_RECURRENT_KERNELS)

}  // namespace cormorant::ops::recurrent
