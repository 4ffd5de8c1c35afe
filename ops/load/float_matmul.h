// SPDX-License-Identifier: Apache-2.0
//
// Matrix products in float: out[m][n] is the sum over k, from zero upwards, of left[m][k] · right[k][n].
#pragma once

#include "kernels/float_sums.h"

namespace cormorant::ops {

struct FloatMatrixSize {
  std::uint32_t rows, inner, columns;
};

// right[k][n] is at k · right_row + n · right_column.
template <FloatRowKernel kRow>
inline void multiply_matrices(const float* left, const float* right, float* out, const FloatMatrixSize& size,
                              std::int32_t right_row, std::int32_t right_column) {
  const auto inner = static_cast<std::int32_t>(size.inner);
  const auto columns = static_cast<std::int32_t>(size.columns);
  FloatRow row{};
  row.in = right;
  row.weight = left;
  row.out = out;
  row.outputs = static_cast<std::int32_t>(size.rows);
  row.out_output = columns;
  row.weight_output = inner;
  row.channels = row.rows = 1;
  row.taps = inner;
  row.in_tap = right_row;
  row.weight_tap = 1;
  FloatLine line{};
  line.out_step = 1;
  line.count = line.end = columns;
  line.in_step = right_column;
  line.in_size = columns * right_column;
  line.taps = 1;
  kRow(row, line);
}
template <FloatRowKernel kRow>
inline void multiply_matrices(const float* left, const float* right, float* out, const FloatMatrixSize& size) {
  multiply_matrices<kRow>(left, right, out, size, static_cast<std::int32_t>(size.columns), 1);
}

}  // namespace cormorant::ops
