// SPDX-License-Identifier: Apache-2.0
//
// Windows over images in float: what average and maximum pooling share.
#pragma once

#include "kernels/pool_geometry.h"
#include "ops/load/float_kernel.h"

namespace cormorant::ops {

struct FloatPoolAxis {
  std::int16_t in, out, kernel, stride, padding, dilation;
};

struct FloatPool {
  const float* input;
  float* output;
  std::int32_t planes;
  std::int32_t step;      // from a pixel to the next: 1, or channels that are side by side
  FloatPoolAxis axes[2];  // height, width
};

// Python's lists of one or two numbers; an empty stride is the kernel's size.
struct FloatPoolLists {
  const IntPair &kernel, &given_stride, &padding, &dilation;
  const IntPair& stride = given_stride.count == 0 ? kernel : given_stride;
};

inline bool read_float_pool(Call& call, const Tensor& input, const Tensor& out, const FloatPoolLists& lists,
                            bool ceil_mode, FloatPool& pool) {
  call.require(input.rank == 4 && out.rank == 4 && is_f32(input) && is_f32(out), Error::unsupported);
  if (call.error() != Error::ok) return false;
  const bool is_contiguous = input.is_contiguous() && out.is_contiguous();
  call.require(is_contiguous || (input.is_channels_last() && out.is_channels_last()), Error::unsupported);
  call.require(is_countable(input) && is_countable(out), Error::unsupported);
  call.require(is_countable(lists.kernel, 2, 1) && is_countable(lists.stride, 2, 1) &&
                   is_countable(lists.padding, 2, 0) && is_countable(lists.dilation, 2, 1),
               Error::bad_value);
  call.require(input.sizes[0] == out.sizes[0] && input.sizes[1] == out.sizes[1], Error::bad_shape);
  if (call.error() != Error::ok) return false;
  pool.input = input.as<const float>();
  pool.output = out.as<float>();
  pool.planes = out.sizes[0] * out.sizes[1];
  pool.step = is_contiguous ? 1 : out.sizes[1];
  const auto i16 = [](std::int32_t n) { return static_cast<std::int16_t>(n); };
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int32_t reach = lists.dilation[i] * (lists.kernel[i] - 1) + 1;
    const std::int32_t size = input.sizes[2 + i];
    call.require(2 * lists.padding[i] <= reach && size + 2 * lists.padding[i] >= reach &&
                     out.sizes[2 + i] == pooled_size(size, reach, lists.stride[i], lists.padding[i], ceil_mode),
                 Error::bad_shape);
    pool.axes[i] = {i16(size),
                    i16(out.sizes[2 + i]),
                    i16(lists.kernel[i]),
                    i16(lists.stride[i]),
                    i16(lists.padding[i]),
                    i16(lists.dilation[i])};
  }
  return call.error() == Error::ok;
}

// The taps of a window along one axis that are inside the input.
struct FloatTaps {
  std::int32_t first, count;
  std::int32_t counted;  // including those in the padding, but not beyond it
};
inline FloatTaps taps_at(const FloatPoolAxis& axis, std::int32_t index) {
  const std::int32_t begin = index * axis.stride - axis.padding;
  const std::int32_t padded = axis.in + axis.padding;
  if (begin >= 0 && begin + (axis.kernel - 1) * axis.dilation < axis.in) return {begin, axis.kernel, axis.kernel};
  FloatTaps taps{begin, 0, 0};
  for (std::int32_t k = 0, at = begin; k < axis.kernel && at < padded; ++k, at += axis.dilation) {
    ++taps.counted;
    if (at < 0) {
      taps.first = at + axis.dilation;
    } else if (at < axis.in) {
      ++taps.count;
    }
  }
  return taps;
}

// f(image, rows, columns, place) computes each output, which goes to that place.
template <class F>
inline void run_float_pool(const FloatPool& p, F f) {
  const float* image = p.input;
  std::int32_t first = 0;  // of the output's plane
  std::int32_t channel = 0;
  for (std::int32_t plane = 0; plane < p.planes; ++plane) {
    std::int32_t out = first;
    for (std::int32_t y = 0; y < p.axes[0].out; ++y) {
      const FloatTaps rows = taps_at(p.axes[0], y);
      for (std::int32_t x = 0; x < p.axes[1].out; ++x, out += p.step) {
        p.output[out] = f(image, rows, taps_at(p.axes[1], x), out);
      }
    }
    ++image;
    ++first;
    if (++channel < p.step) continue;
    channel = 0;
    image += (p.axes[0].in * p.axes[1].in - 1) * p.step;
    first = out - p.step + 1;
  }
}

}  // namespace cormorant::ops
