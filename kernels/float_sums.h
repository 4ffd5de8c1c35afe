// SPDX-License-Identifier: Apache-2.0
//
// Sums of products in float, which convolutions and matrix products consist of: one row of results for several outputs
// (channels, or rows of a matrix). Each result is the sum, from zero upwards, of input · weight over input channels,
// rows of the kernel and its columns, in this order, then the bias. Taps in the padding are left out. Several results
// at once share what they load; that does not change the order of any one's sum.
#pragma once

#include <cstdint>

namespace cormorant {

// Places along one axis that share their taps, and where these read. A convolution has one line per axis, a transposed
// one as many as its stride: the places of a line have the same taps, and read neighbours.
struct FloatLine {
  std::int32_t first_out, out_step, count;  // results
  std::int32_t first_in, in_step, in_size;  // the first tap reads first_in + i · in_step, if that is inside
  std::int32_t first_tap, tap_step, taps;   // of the kernel
  std::int32_t in_tap;                      // from what one tap reads to what the next reads
  std::int32_t begin = 0, end = 0;          // the i whose taps are all inside

  [[nodiscard]] std::int32_t in_at(std::int32_t i) const { return first_in + i * in_step; }
  [[nodiscard]] bool is_inside(std::int32_t at) const {
    return static_cast<std::uint32_t>(at) < static_cast<std::uint32_t>(in_size);
  }
  void find_inside() {
    const auto all = [&](std::int32_t i) { return is_inside(in_at(i)) && is_inside(in_at(i) + (taps - 1) * in_tap); };
    begin = 0;
    while (begin < count && taps != 0 && !all(begin)) ++begin;
    end = begin;
    while (end < count && (taps == 0 || all(end))) ++end;
  }
};

struct FloatTapRange {
  std::int32_t first, count;
};
// The taps of place i that are inside.
inline FloatTapRange taps_inside(const FloatLine& line, std::int32_t i) {
  std::int32_t at = line.in_at(i);
  FloatTapRange range{0, 0};
  for (; range.first < line.taps && !line.is_inside(at); ++range.first) at += line.in_tap;
  for (; range.first + range.count < line.taps && line.is_inside(at); ++range.count) at += line.in_tap;
  return range;
}

struct FloatRow {
  const float* in;      // column 0 of the first row of the first channel
  const float* weight;  // of the first output, for the first of these taps
  const float* bias;    // one per output; null: none
  float* out;           // place 0 of the first output
  std::int32_t outputs;
  std::int32_t out_output, weight_output;  // steps, in elements, from output to output
  std::int32_t in_output;                  // 0: all outputs read the same
  std::int32_t channels, in_channel, weight_channel;
  std::int32_t rows, in_row, weight_row;
  std::int32_t taps, in_tap, weight_tap;  // in_tap: in addition to the line's own
};

// One product per result: a factor and a term per channel.
inline bool is_scaling(const FloatRow& row, const FloatLine& line) {
  return row.channels * row.rows * row.taps == 1 && line.begin == 0 && line.end == line.count;
}

// All results of a row, with the CPU's float instructions or the compiler's library: kernels/sums_float.cc.
void sum_row(const FloatRow& row, const FloatLine& line);

using FloatRowKernel = void (*)(const FloatRow& row, const FloatLine& line);

// The same bits with MVE. Its arithmetic takes subnormal numbers for zeros: a row in which one occurs is recomputed.
void sum_row_mve(const FloatRow& row, const FloatLine& line);

}  // namespace cormorant
