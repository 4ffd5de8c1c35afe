// SPDX-License-Identifier: Apache-2.0
//
// Convolutions in float: ExecuTorch's portable operator for all kinds, including depthwise, grouped and transposed
// ones. Tensors are in logical order, [N, C, H, W], in ExecuTorch's files also [N, C, W]; weights are [outputs, inputs
// / groups, height, width], of a transposed convolution [inputs, outputs / groups, height, width].
#pragma once

#include "base/fields.h"

namespace cormorant::ops::conv2d {

template <class W>
struct FloatConvolution {
  typename W::Tensor input{};
  typename W::Tensor weight{};
  typename W::OptionalTensor bias{};
  typename W::IntPair stride{};
  typename W::IntPair padding{};
  typename W::IntPair dilation{};
  typename W::Bool transposed{};
  typename W::IntPair output_padding{};
  typename W::Int groups{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, out)
};

}  // namespace cormorant::ops::conv2d
