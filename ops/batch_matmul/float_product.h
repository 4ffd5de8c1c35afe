// SPDX-License-Identifier: Apache-2.0
//
// Matrix products per batch in float: what the kernels share, whatever computes the sums.
#pragma once

#include "ops/load/float_matmul.h"
#include "runtime/kernel.h"

namespace cormorant::ops::batch_matmul {

struct FloatPlan {
  static constexpr std::uint32_t kStateBytes = 28;
  const float* left;
  const float* right;
  float* output;
  std::uint32_t batches;
  FloatMatrixSize size;
};

Error load_bmm(Call& call);

template <FloatRowKernel kRow>
inline void multiply_all(const FloatPlan& p) {
  for (std::uint32_t b = 0; b < p.batches; ++b) {
    multiply_matrices<kRow>(p.left + b * p.size.rows * p.size.inner, p.right + b * p.size.inner * p.size.columns,
                            p.output + b * p.size.rows * p.size.columns, p.size);
  }
}

}  // namespace cormorant::ops::batch_matmul
