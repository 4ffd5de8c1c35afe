// SPDX-License-Identifier: Apache-2.0
//
// Linear layers in float, in ExecuTorch's form: mm(input, weightᵀ), with a bias addmm. Matrices in logical order.
// Programs of its Cortex-M compiler have linear itself, which its portable kernels do not: we read it and do not make
// it.
#pragma once

#include "base/fields.h"

namespace cormorant::ops::linear {

// beta · self + alpha · mat1 · mat2, self [columns], [1, columns] or [rows, columns]
template <class W>
struct Addmm {
  typename W::Tensor self{};
  typename W::Tensor mat1{};
  typename W::Tensor mat2{};
  typename W::Scalar beta{};
  typename W::Scalar alpha{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, mat1, mat2, beta, alpha, out)
};

template <class W>
struct Mm {
  typename W::Tensor self{};
  typename W::Tensor mat2{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, mat2, out)
};

template <class W>
struct FloatLinear {
  typename W::Tensor input{};
  typename W::Tensor weight{};  // [outputs, inputs]
  typename W::OptionalTensor bias{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, weight, bias, out)
};

}  // namespace cormorant::ops::linear
