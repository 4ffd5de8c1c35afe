// SPDX-License-Identifier: Apache-2.0
//
// Convolutions in float: ExecuTorch's portable operator for all kinds, including depthwise, grouped and transposed
// ones. Tensors are in logical order, [N, C, H, W], in ExecuTorch's files also [N, C, W]; weights are [outputs, inputs
// / groups, height, width], of a transposed convolution [inputs, outputs / groups, height, width].
#pragma once

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

  template <class V>
  void visit(V&& v) {
    v("input", input);
    v("weight", weight);
    v("bias", bias);
    v("stride", stride);
    v("padding", padding);
    v("dilation", dilation);
    v("transposed", transposed);
    v("output_padding", output_padding);
    v("groups", groups);
    v("out", out);
  }
};

}  // namespace cormorant::ops::conv2d
