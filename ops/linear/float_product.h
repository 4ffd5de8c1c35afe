// SPDX-License-Identifier: Apache-2.0
//
// Linear layers in float: what their kernels share, whatever computes the sums.
#pragma once

#include "ops/load/float_matmul.h"
#include "runtime/kernel.h"

namespace cormorant::ops::linear {

struct FloatPlan {
  static constexpr std::uint32_t kStateBytes = 40;
  const float* left;
  const float* right;
  float* output;
  FloatMatrixSize size;
  const float* bias;        // null: none
  std::uint32_t bias_step;  // from row to row
  float alpha, beta;
};

Error load_mm(Call& call);
Error load_addmm(Call& call);
Error load_linear(Call& call);

void add_bias(const FloatPlan& plan);

template <FloatRowKernel kRow>
inline void multiply_and_add(const FloatPlan& p) {
  multiply_matrices<kRow>(p.left, p.right, p.output, p.size);
  add_bias(p);
}
// The weight's rows are the product's columns. Its bias is addmm's with a beta of 1, which changes no bit.
template <FloatRowKernel kRow>
inline void multiply_by_weight(const FloatPlan& p) {
  multiply_matrices<kRow>(p.left, p.right, p.output, p.size, 1, static_cast<std::int32_t>(p.size.inner));
  add_bias(p);
}

}  // namespace cormorant::ops::linear
