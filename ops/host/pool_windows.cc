// SPDX-License-Identifier: Apache-2.0
#include "ops/host/pool_windows.h"

#include <algorithm>

#include "ops/nodes.h"

namespace cormorant::ops {
namespace {

std::size_t widest(const AxisWindows& axis) {
  std::size_t width = 1;
  for (const auto& window : axis.places) width = std::max(width, window.size());
  return width;
}

std::int64_t first_axis(const ir::Value* x, const std::vector<AxisWindows>& axes) {
  return rank_of(x) - static_cast<std::int64_t>(axes.size());
}

}  // namespace

AxisWindows sliding_windows(const Build& b, std::int64_t size, std::int64_t results, const Sliding& by,
                            bool include_padding) {
  const auto& [kernel, stride, padding, dilation] = by;
  b.require(kernel > 0 && stride > 0 && padding >= 0 && padding < kernel && dilation > 0 &&
            (kernel - 1) * dilation < size + 2 * padding);
  AxisWindows axis;
  for (std::int64_t r = 0; r < results; ++r) {
    const std::int64_t start = r * stride - padding;
    std::vector<std::int64_t> window;
    const std::int64_t outside = start < 0 ? (dilation - 1 - start) / dilation : 0;  // of the window's places
    for (std::int64_t k = outside; k < kernel && start + k * dilation < size; ++k)
      window.push_back(start + k * dilation);
    b.require(!window.empty());
    const std::int64_t padded = std::min(start + kernel, size + padding) - start;
    axis.counts.push_back(static_cast<double>(include_padding ? padded : static_cast<std::int64_t>(window.size())));
    axis.places.push_back(std::move(window));
  }
  return axis;
}

AxisWindows adaptive_windows(const Build& b, std::int64_t size, std::int64_t results) {
  if (results < 1) b.reject("adaptive pooling to an empty output", "choose output sizes of at least 1");
  b.require(size > 0);
  AxisWindows axis;
  for (std::int64_t r = 0; r < results; ++r) {
    std::vector<std::int64_t> window;
    for (std::int64_t at = r * size / results; at < ((r + 1) * size + results - 1) / results; ++at)
      window.push_back(at);
    axis.counts.push_back(static_cast<double>(window.size()));
    axis.places.push_back(std::move(window));
  }
  return axis;
}

V mean_of_windows(const Build& b, V x, const std::vector<AxisWindows>& axes, std::optional<double> divisor) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const AxisWindows& axis = axes[i];
    const std::size_t width = widest(axis);
    std::vector<double> places;
    std::vector<float> weights;
    for (std::size_t r = 0; r < axis.places.size(); ++r) {
      for (std::size_t k = 0; k < width; ++k) {
        const bool is_inside = k < axis.places[r].size();
        places.push_back(is_inside ? static_cast<double>(axis.places[r][k]) : 0);
        weights.push_back(is_inside ? (divisor ? 1.0F : static_cast<float>(1 / axis.counts[r])) : 0.0F);
      }
    }
    const ir::Shape shape = {static_cast<std::int64_t>(axis.places.size()), static_cast<std::int64_t>(width)};
    x = b.node(nodes::cormorant_taps_float, {{"self", x},
                                             {"dim", first_axis(x, axes) + static_cast<std::int64_t>(i)},
                                             {"places", b.constant(DType::i32, shape, places)},
                                             {"weights", b.floats(shape, weights)}});
  }
  return divisor ? b.mul(x, 1 / *divisor) : x;
}

// One dimension at a time: the largest of the largest.
V largest_of_windows(const Build& b, V x, const std::vector<AxisWindows>& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t dim = first_axis(x, axes) + static_cast<std::int64_t>(i);
    const std::size_t width = widest(axes[i]);
    std::vector<std::int64_t> places;
    for (const auto& window : axes[i].places) {
      for (std::size_t k = 0; k < width; ++k) places.push_back(k < window.size() ? window[k] : window.front());
    }
    // With five or six dimensions the window would be one too many: what is before is one.
    ir::Shape shape = x->type.shape;
    std::int64_t outer = 1, inner = 1;
    for (std::int64_t d = 0; d < rank_of(x); ++d) (d < dim ? outer : inner) *= d == dim ? 1 : size_at(x, d);
    const auto results = static_cast<std::int64_t>(axes[i].places.size());
    V selected = b.index_select(b.view(x, {outer, size_at(x, dim), inner}), 1, places);
    V windows = b.view(selected, {outer, results, static_cast<std::int64_t>(width), inner});
    shape[static_cast<std::size_t>(dim)] = results;
    x = b.view(b.amax(windows, {2}), shape);
  }
  return x;
}

V places_of_largest(const Build& b, V x, const std::vector<AxisWindows>& axes) {
  std::int64_t size = 1, results = 1, width = 1;
  ir::Shape shape(x->type.shape.begin(), x->type.shape.begin() + first_axis(x, axes));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    size *= size_at(x, first_axis(x, axes) + static_cast<std::int64_t>(i));
    results *= static_cast<std::int64_t>(axes[i].places.size());
    width *= static_cast<std::int64_t>(widest(axes[i]));
    shape.push_back(static_cast<std::int64_t>(axes[i].places.size()));
  }
  const std::int64_t rows = x->type.elements() / size;
  // What each window covers, in the order in which PyTorch looks at it; short ones begin with their first again.
  std::vector<std::int64_t> places;
  for (std::int64_t r = 0; r < results; ++r) {
    std::vector<std::int64_t> window = {0};
    std::int64_t rest = r, around = results;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      around /= static_cast<std::int64_t>(axes[i].places.size());
      const auto& along = axes[i].places[static_cast<std::size_t>(rest / around)];
      rest %= around;
      std::vector<std::int64_t> finer;
      for (const std::int64_t base : window) {
        for (const std::int64_t at : along) {
          finer.push_back(base * size_at(x, first_axis(x, axes) + static_cast<std::int64_t>(i)) + at);
        }
      }
      window = std::move(finer);
    }
    places.insert(places.end(), static_cast<std::size_t>(width) - window.size(), window.front());
    places.insert(places.end(), window.begin(), window.end());
  }
  V table = b.indices(places);
  V windows = b.view(b.index_select(b.view(x, {rows, size}), 1, table), {rows, results, width});
  V best = b.view(b.arg(true, windows, 2), {rows, results});
  std::vector<double> first(static_cast<std::size_t>(results));
  for (std::size_t r = 0; r < first.size(); ++r) first[r] = static_cast<double>(r) * static_cast<double>(width);
  V at = b.add(best, b.constant(DType::i64, {results}, first));
  return b.view(b.index_select(table, 0, b.view(at, {rows * results})), shape);
}

}  // namespace cormorant::ops
