// SPDX-License-Identifier: Apache-2.0
//
// The positions of a two-dimensional pooling's windows. Height and width work alike, so each is an axis that yields one
// span of taps after another, without division, which ARMv6-M lacks.
#pragma once

#include "kernels/window.h"

namespace cormorant {

// How many windows fit in one dimension. All sizes are positive (padding not negative) and at most 2^28; the kernel,
// from its first to its last tap, is at most input + 2 · padding. In ceil mode the last window may stick out, but must
// start inside the input or its left padding.
template <class Int>
constexpr Int pooled_size(Int input, Int kernel, Int stride, Int padding, bool ceil_mode) {
  const Int room = input + 2 * padding - kernel;
  Int size = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  if (ceil_mode && (size - 1) * stride >= input + padding) --size;
  return size;
}

// pooled_size() == size, without its division; all sizes are below 2^16, reach (the kernel's) below 2^30.
constexpr bool is_pooled_size(std::int32_t size, std::int32_t input, std::int32_t reach, std::int32_t stride,
                              std::int32_t padding, bool ceil_mode) {
  const std::int32_t room = input + 2 * padding - reach;
  if (room < 0) return false;
  const auto starts = [&](std::int32_t index) {
    const std::uint32_t at = static_cast<std::uint32_t>(index) * static_cast<std::uint32_t>(stride);
    const auto last = static_cast<std::uint32_t>(ceil_mode ? room + stride - 1 : room);
    return at <= last && (!ceil_mode || at < static_cast<std::uint32_t>(input + padding));
  };
  return starts(size - 1) && !starts(size);
}

// The sizes that an axis can hold.
constexpr bool is_pool_size(std::int32_t value, std::int32_t lowest) { return value >= lowest && value <= 65535; }

struct PoolAxis {
  std::uint16_t input, output;
  std::uint16_t kernel, stride;  // stride 0: adaptive, window i covers [i · input / output, (i + 1) · input / output)
  std::uint16_t padding, dilation;  // with ends rounded outwards
};

struct PoolGeometry {
  const std::int8_t* input;  // N, H, W, C in memory
  std::int8_t* output;
  std::uint16_t batch, channels;
  PoolAxis height, width;
};

// The taps of one window along one axis that are inside the input.
struct PoolSpan {
  std::int32_t first;    // index in the input
  std::int32_t taps;     // may be 0
  std::int32_t counted;  // taps including those in the padding, but not beyond it
};

// What windows an operator may have besides regular ones; those it cannot have cost it no code.
enum class PoolKind : std::uint8_t { dilated, adaptive };

// One span after the other.
template <PoolKind kKind>
class PoolSpans {
 public:
  explicit PoolSpans(const PoolAxis& axis) : axis_(axis), begin_(-static_cast<std::int32_t>(axis.padding)) {}

  PoolSpan next() {
    if constexpr (kKind == PoolKind::adaptive) {
      if (axis_.stride == 0) return next_adaptive();
    }
    return next_regular();
  }

 private:
  PoolSpan next_regular() {
    const std::int32_t step = kKind == PoolKind::dilated ? axis_.dilation : 1;
    std::int32_t first = begin_;
    std::int32_t taps = axis_.kernel;
    const std::int32_t end = begin_ + (taps - 1) * step + 1;
    const std::int32_t border = axis_.input + axis_.padding;
    const std::int32_t counted = end < border ? taps : taps - (end - border);  // where the dilation is 1
    begin_ += axis_.stride;
    if (step == 1) {
      const std::int32_t last = end < axis_.input ? end : axis_.input;
      first = first < 0 ? 0 : first;
      return {first, last > first ? last - first : 0, counted};
    }
    for (; first < 0 && taps > 0; first += step) --taps;
    for (std::int32_t last = first + (taps - 1) * step; last >= axis_.input && taps > 0; last -= step) --taps;
    return {first, taps, counted};
  }

  PoolSpan next_adaptive() {
    const std::int32_t first = begin_;
    for (rest_ += axis_.input; rest_ >= axis_.output; rest_ -= axis_.output) ++begin_;
    const std::int32_t taps = begin_ + (rest_ > 0 ? 1 : 0) - first;
    return {first, taps, taps};
  }

  const PoolAxis& axis_;
  std::int32_t begin_;
  std::int32_t rest_ = 0;  // of the division by output
};

// Whether all windows have all of their taps inside the input: then they differ only in position. Not checked for
// windows that may be adaptive: finding their taps is the lesser part of their work, and every model's code would be
// larger.
template <PoolKind kKind>
inline bool are_alike(const PoolAxis& axis) {
  if constexpr (kKind == PoolKind::adaptive) return false;
  const std::int32_t reach = (axis.kernel - 1) * axis.dilation;
  return axis.padding == 0 && (axis.output - 1) * axis.stride + reach < axis.input;
}

constexpr std::int32_t wrapping_product(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b));
}

// Calls pool(window, rows, columns) for every output pixel, or for a row of them if they are alike; rows and columns
// are its spans. Where a window without taps would be is computed, in 32 bits that wrap, but not read.
template <PoolKind kKind, class Pool>
inline void for_each_pool_window(const PoolGeometry& g, Pool pool) {
  const std::int32_t at_once = are_alike<kKind>(g.width) ? g.width.output : 1;
  const std::int32_t channels = g.channels;
  const std::int32_t row_bytes = g.width.input * channels;
  const std::int8_t* image = g.input;
  std::int8_t* output = g.output;
  for (std::int32_t n = 0; n < g.batch; ++n, image += g.height.input * row_bytes) {
    PoolSpans<kKind> down(g.height);
    for (std::int32_t y = 0; y < g.height.output; ++y) {
      const PoolSpan rows = down.next();
      const std::int8_t* row = image + wrapping_product(rows.first, row_bytes);
      PoolSpans<kKind> across(g.width);
      for (std::int32_t x = 0; x < g.width.output; x += at_once, output += at_once * channels) {
        const PoolSpan columns = across.next();
        pool(Window{.input = row + wrapping_product(columns.first, channels),
                    .output = output,
                    .rows = static_cast<std::uint32_t>(rows.taps),
                    .columns = static_cast<std::uint32_t>(columns.taps),
                    .row_step = wrapping_product(g.height.dilation, row_bytes),
                    .column_step = wrapping_product(g.width.dilation, channels),
                    .channels = static_cast<std::uint32_t>(channels),
                    .more = static_cast<std::uint32_t>(at_once - 1),
                    .next = at_once == 1 ? 0 : g.width.stride * channels},
             rows, columns);
      }
    }
  }
}

}  // namespace cormorant
