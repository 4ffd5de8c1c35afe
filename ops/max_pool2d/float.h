// SPDX-License-Identifier: Apache-2.0
//
// Max pooling in float, in logical order. ExecuTorch's portable operator also says where each maximum was, which takes
// twice the memory of the result: our own runtime gets cormorant::max_pool2d.float instead.
#pragma once

#include "base/fields.h"

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

  CORMORANT_FIELDS(self, kernel_size, stride, padding, dilation, ceil_mode, out)
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

  CORMORANT_FIELDS(self, kernel_size, stride, padding, dilation, ceil_mode, out, indices)
};

}  // namespace cormorant::ops
