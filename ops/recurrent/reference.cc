// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "ops/recurrent/arithmetic.h"
#include "ops/recurrent/kernel.h"
#include "ops/references.h"

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
      return load_at<std::uint8_t>(weights + index) - 128;
    case Layout::dsp_pairs: {
      // The upper half of a pair has lost one where the lower half is negative.
      const bool borrowed = row % 2 == 1 && load_at<std::int8_t>(weights + index - 1) < 0;
      return load_at<std::int8_t>(weights + index) + (borrowed ? 1 : 0);
    }
    case Layout::dsp_wide:
      return load_at<std::int16_t>(weights + index);
    case Layout::mve:
      break;
  }
  return load_at<std::int8_t>(weights + index);
}

struct Reference {
  static void copy(std::int8_t* to, const std::int8_t* from, std::uint32_t bytes) { std::memmove(to, from, bytes); }

  static void multiply(const Row& row) {
    const PackedHeader& header = row.header;
    const Geometry geometry{static_cast<Kind>(header.kind), static_cast<Layout>(header.layout), header.inputs,
                            header.units};
    const std::byte* record = row.groups;
    std::int16_t* out = row.sums;
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
        *out++ = static_cast<std::int16_t>(
            PlainSaturation::to_16(doubling_high_multiply(shift_left(sum, header.left), multiplier)));
      }
      record += std::size_t{geometry.groups(block)} * geometry.record_bytes(block);
    }
  }

  static void narrow(const Row& row) {
    const Narrow narrow(row.header);
    for (std::uint32_t u = 0; u < row.header.units; ++u) {
      row.vector[row.header.inputs + u] = narrow.of<PlainSaturation>(row.kept[u]);
    }
  }

  static void step(const Row& row, std::int8_t* states) {
    const Narrow narrow(row.header);
    const std::size_t units = row.header.units;
    for (std::size_t u = 0; u < units; ++u) {
      const std::int16_t* const sum = row.sums + u;
      std::int16_t& kept = row.kept[u];
      std::int32_t h = 0;
      switch (static_cast<Kind>(row.header.kind)) {
        case Kind::lstm:
          h = lstm_unit<PlainSaturation>({}, sum[0], sum[units], sum[2 * units], sum[3 * units], kept);
          break;
        case Kind::gru:
          h = gru_unit<PlainSaturation>({}, sum[0], sum[units], sum[2 * units], sum[3 * units], kept);
          break;
        case Kind::rnn:
          h = rnn_unit({}, sum[0], kept);
          break;
      }
      states[u] = row.vector[row.header.inputs + u] = narrow.of<PlainSaturation>(h);
    }
  }
};

void execute_recurrent(const void* plan) { run<Reference>(*static_cast<const Plan*>(plan)); }

}  // namespace

constexpr auto* execute_pairs = execute_recurrent;
constexpr auto* execute_wide = execute_recurrent;
CORMORANT_REFERENCES(recurrent, CORMORANT_RECURRENT_KERNELS)

}  // namespace cormorant::ops::recurrent
