// SPDX-License-Identifier: Apache-2.0
//
// Normalizations in float, in logical order: ExecuTorch's portable layer norm and group norm, which also give mean and
// 1 / standard deviation of each row, and an RMS norm of ours.
#pragma once

#include "base/fields.h"
#include "base/overlap.h"

namespace cormorant::ops::layer_norm {

template <class W>
struct NativeLayerNorm {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor input{};
  typename W::IntList normalized_shape{};
  typename W::OptionalTensor weight{};
  typename W::OptionalTensor bias{};
  typename W::Float eps{};
  typename W::Out out0{};
  typename W::Out out1{};  // mean
  typename W::Out out2{};  // 1 / standard deviation

  CORMORANT_FIELDS(input, normalized_shape, weight, bias, eps, out0, out1, out2)
};

template <class W>
struct NativeGroupNorm {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor input{};
  typename W::OptionalTensor weight{};
  typename W::OptionalTensor bias{};
  typename W::Int N{};
  typename W::Int C{};
  typename W::Int HxW{};
  typename W::Int group{};
  typename W::Float eps{};
  typename W::Out out0{};
  typename W::Out out1{};
  typename W::Out out2{};

  CORMORANT_FIELDS(input, weight, bias, N, C, HxW, group, eps, out0, out1, out2)
};

// Over the last dimension; weight has as many entries.
template <class W>
struct FloatRmsNorm {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor input{};
  typename W::OptionalTensor weight{};
  typename W::Float eps{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, weight, eps, out)
};

}  // namespace cormorant::ops::layer_norm
