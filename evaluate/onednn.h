// SPDX-License-Identifier: Apache-2.0
//
// The two operations that calibration spends its time in, on oneDNN: convolution and matrix product, float32. They are
// called from operators' evaluate hooks, by several threads at once. Each call computes on the calling thread alone:
// calibration runs one sample per thread, and a sum that no second thread takes part in is the same in every run.
// Weights that an operator passes again and again (a graph's constants) are reordered for the CPU once and kept.
#pragma once

#include <cstdint>
#include <vector>

#include "evaluate/tensor.h"

namespace cormorant::evaluate {

struct ConvolutionGeometry {
  std::vector<std::int64_t> stride = {1, 1};
  std::vector<std::int64_t> padding = {0, 0};  // {vertical, horizontal}, or {top, left, bottom, right}
  std::vector<std::int64_t> dilation = {1, 1};
  std::int64_t groups = 1;
};

// input [N, C, H, W], weight [O, C / groups, KH, KW], bias [O] or null -> [N, O, OH, OW].
[[nodiscard]] Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor* bias,
                                 const ConvolutionGeometry& geometry);

// input [..., I], weight [O, I], bias [O] or null -> [..., O].
[[nodiscard]] Tensor linear(const Tensor& input, const Tensor& weight, const Tensor* bias);

// left [..., M, K] · right [..., K, N] -> [..., M, N]; the leading dimensions are equal.
[[nodiscard]] Tensor matmul(const Tensor& left, const Tensor& right);

// For rows [K, P], the products of `count` rows from `first` on with all rows -> [count, K].
[[nodiscard]] Tensor gram(const Tensor& rows, std::size_t first, std::size_t count);

}  // namespace cormorant::evaluate
