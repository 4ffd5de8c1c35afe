// SPDX-License-Identifier: Apache-2.0
//
// Walks through a convolution in float, row by row of the result, for every kind of it and whatever computes a row.
#pragma once

#include "kernels/float_sums.h"
#include "runtime/kernel.h"

namespace cormorant::ops::conv2d {

struct FloatPlan {
  static constexpr std::uint32_t kStateBytes = 52;
  const float* input;
  const float* weight;
  const float* bias;  // may be null
  float* output;
  std::int16_t batch, groups;
  std::int16_t in_channels, out_channels;  // of one group
  std::int16_t in_size[2], out_size[2];    // height, width
  std::int16_t kernel[2], stride[2], padding[2], dilation[2];
  bool transposed;
  bool has_steps = false;  // it is a SteppedFloatPlan
};

// From ExecuTorch's files: tensors that are not all in logical order, mostly channels-last ones.
struct SteppedFloatPlan : FloatPlan {
  static constexpr std::uint32_t kStateBytes = 100;
  std::int32_t in_steps[4], weight_steps[4], out_steps[4];  // in elements, by logical dimension
};

Error load_convolution(Call& call);

// One result at a time, with the same sums.
void walk_stepped(const SteppedFloatPlan& p);

inline FloatLine line_of(const FloatPlan& p, int axis, std::int32_t phase) {
  const std::int32_t stride = p.stride[axis];
  const std::int32_t dilation = p.dilation[axis];
  FloatLine line{};
  line.in_size = p.in_size[axis];
  if (!p.transposed) {
    line.out_step = 1;
    line.count = p.out_size[axis];
    line.first_in = -p.padding[axis];
    line.in_step = stride;
    line.tap_step = 1;
    line.taps = p.kernel[axis];
    line.in_tap = dilation;
  } else {
    // A tap maps output o to the input (o + padding - tap · dilation) / stride, if that is an integer.
    line.first_out = phase;
    line.out_step = stride;
    line.count = (p.out_size[axis] - phase + stride - 1) / stride;
    line.in_step = 1;
    for (std::int32_t tap = 0; tap < p.kernel[axis]; ++tap) {
      const std::int32_t distance = phase + p.padding[axis] - tap * dilation;
      if (distance % stride != 0) continue;
      if (line.taps == 0) {
        line.first_tap = tap;
        line.first_in = distance / stride;
      } else if (line.taps == 1) {
        line.tap_step = tap - line.first_tap;
        line.in_tap = distance / stride - line.first_in;
      }
      ++line.taps;
    }
  }
  line.find_inside();
  return line;
}

// Inputs with one tap each are a matrix product: its rows are the inputs, its columns all pixels of an image.
inline bool is_matrix(const FloatPlan& p) {
  const auto is_plain = [&](int axis) {
    return p.kernel[axis] == 1 && p.stride[axis] == 1 && p.padding[axis] == 0 && p.in_size[axis] == p.out_size[axis];
  };
  return is_plain(0) && is_plain(1);
}

template <FloatRowKernel kRow>
inline void walk_convolution(const FloatPlan& p) {
  if (p.has_steps) return walk_stepped(static_cast<const SteppedFloatPlan&>(p));
  const std::int32_t in_plane = p.in_size[0] * p.in_size[1];
  const std::int32_t out_plane = p.out_size[0] * p.out_size[1];
  const std::int32_t taps = p.kernel[0] * p.kernel[1];
  const bool matrix = is_matrix(p);
  const bool depthwise = p.in_channels == 1 && p.out_channels == 1;  // then groups are outputs
  const std::int32_t groups = depthwise ? 1 : p.groups;
  const std::int32_t inputs = depthwise ? p.groups : p.in_channels;
  FloatRow row{};
  row.outputs = depthwise ? p.groups : p.out_channels;
  row.in_output = depthwise ? in_plane : 0;
  row.out_output = out_plane;
  row.weight_output = p.transposed ? taps : p.in_channels * taps;
  row.channels = p.in_channels;
  row.in_channel = in_plane;
  row.weight_channel = p.transposed ? p.out_channels * taps : taps;
  const std::int32_t phases[2] = {p.transposed ? p.stride[0] : 1, p.transposed ? p.stride[1] : 1};
  for (std::int32_t phase_x = 0; phase_x < phases[1]; ++phase_x) {
    FloatLine columns = line_of(p, 1, phase_x);
    row.taps = columns.taps;
    row.weight_tap = columns.tap_step;
    if (matrix) {
      columns.count = columns.in_size = columns.end = in_plane;
      columns.in_tap = 0;
      row.taps = row.channels;
      row.in_tap = row.in_channel;
      row.weight_tap = row.weight_channel;
      row.channels = 1;
    }
    for (std::int32_t phase_y = 0; phase_y < phases[0]; ++phase_y) {
      const FloatLine lines = line_of(p, 0, phase_y);
      row.in_row = lines.in_tap * p.in_size[1];
      row.weight_row = lines.tap_step * p.kernel[1];
      const float* image = p.input;
      float* out = p.output + lines.first_out * p.out_size[1] + columns.first_out;
      for (std::int32_t n = 0; n < p.batch; ++n) {
        for (std::int32_t g = 0; g < groups; ++g) {
          const float* const weight =
              p.weight + g * p.in_channels * p.out_channels * taps + lines.first_tap * p.kernel[1] + columns.first_tap;
          row.bias = p.bias == nullptr ? nullptr : p.bias + g * p.out_channels;
          for (std::int32_t i = 0; i < (matrix ? 1 : lines.count); ++i) {
            const FloatTapRange range = taps_inside(lines, i);
            row.rows = range.count;
            row.in = range.count == 0 ? image : image + (lines.in_at(i) + range.first * lines.in_tap) * p.in_size[1];
            row.weight = weight + range.first * row.weight_row;
            row.out = out + i * lines.out_step * p.out_size[1];
            kRow(row, columns);
          }
          image += inputs * in_plane;
          out += row.outputs * out_plane;
        }
      }
    }
  }
}

}  // namespace cormorant::ops::conv2d
