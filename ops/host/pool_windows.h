// SPDX-License-Identifier: Apache-2.0
//
// Poolings of any number of dimensions whose windows are given by what they cover, for those that no pooling kernel
// supports: volumes, windows of unequal size, and the indices of the largest elements.
#pragma once

#include "ops/host/build.h"

namespace cormorant::ops {

// Along one dimension: for each result the elements that it combines, at least one; and how many count.
struct AxisWindows {
  std::vector<std::vector<std::int64_t>> places;
  std::vector<double> counts;
};

// PyTorch's windows; the number of results is known. With `include_padding` padding counts. Windows that cover nothing
// are rejected.
struct Sliding {
  std::int64_t kernel, stride, padding, dilation;
};
AxisWindows sliding_windows(const Build& b, std::int64_t size, std::int64_t results, const Sliding& by,
                            bool include_padding);
AxisWindows adaptive_windows(const Build& b, std::int64_t size, std::int64_t results);

// Over the last dimensions, one entry of `axes` each. A divisor replaces the counts of all of them.
V mean_of_windows(const Build& b, V x, const std::vector<AxisWindows>& axes, std::optional<double> divisor = {});
V largest_of_windows(const Build& b, V x, const std::vector<AxisWindows>& axes);
// Where each is, counted through the last dimensions.
V places_of_largest(const Build& b, V x, const std::vector<AxisWindows>& axes);

}  // namespace cormorant::ops
