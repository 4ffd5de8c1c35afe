// SPDX-License-Identifier: Apache-2.0
//
// Max pooling in float, in logical order. ExecuTorch's portable operator also says where each maximum was, which takes
// twice the memory of the result: our own runtime gets cormorant::max_pool2d.float instead.
#pragma once

namespace cormorant::ops {

template <class W>
struct FloatMaxPool2d {
  typename W::Tensor self{};
  typename W::IntPair kernel_size{};
  typename W::IntPair stride{};  // empty: the kernel's size
  typename W::IntPair padding{};
  typename W::IntPair dilation{};
  typename W::Bool ceil_mode{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("kernel_size", kernel_size);
    v("stride", stride);
    v("padding", padding);
    v("dilation", dilation);
    v("ceil_mode", ceil_mode);
    v("out", out);
  }
};

template <class W>
struct MaxPool2dWithIndices {
  typename W::Tensor self{};
  typename W::IntPair kernel_size{};
  typename W::IntPair stride{};
  typename W::IntPair padding{};
  typename W::IntPair dilation{};
  typename W::Bool ceil_mode{};
  typename W::Out out{};
  typename W::Out indices{};  // int64: the place in the image

  template <class V>
  void visit(V&& v) {
    v("self", self);
    v("kernel_size", kernel_size);
    v("stride", stride);
    v("padding", padding);
    v("dilation", dilation);
    v("ceil_mode", ceil_mode);
    v("out", out);
    v("indices", indices);
  }
};

}  // namespace cormorant::ops
