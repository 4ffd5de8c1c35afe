// SPDX-License-Identifier: Apache-2.0
//
// Matrix products in float: out[m][n] is the sum over k, from zero upwards, of left[m][k] · right[k][n]. The loops are
// turned so that the innermost runs along rows of right and out.
#pragma once

#include <cstdint>

namespace cormorant::ops {

struct FloatMatrixSize {
  std::uint32_t rows, inner, columns;
};

inline void multiply_matrices(const float* left, const float* right, float* out, const FloatMatrixSize& size) {
  for (std::uint32_t m = 0; m < size.rows; ++m, out += size.columns) {
    for (std::uint32_t n = 0; n < size.columns; ++n) out[n] = 0;
    const float* row = right;
    for (std::uint32_t k = 0; k < size.inner; ++k, row += size.columns) {
      const float factor = *left++;
      for (std::uint32_t n = 0; n < size.columns; ++n) out[n] += factor * row[n];
    }
  }
}

}  // namespace cormorant::ops
