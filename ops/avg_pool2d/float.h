// SPDX-License-Identifier: Apache-2.0
//
// Average pooling in float: ExecuTorch's portable operator, in logical order.
#pragma once

#include "base/fields.h"

namespace cormorant::ops {

template <class W>
struct FloatAvgPool2d {
  typename W::Tensor self{};
  typename W::IntPair kernel_size{};
  typename W::IntPair stride{};  // empty: the kernel's size
  typename W::IntPair padding{};
  typename W::Bool ceil_mode{};
  typename W::Bool count_include_pad{};
  typename W::OptionalInt divisor_override{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, out)
};

// Windows that cover the input evenly: window i of n is [i · size / n, (i + 1) · size / n), ends rounded outwards.
template <class W>
struct FloatAdaptiveAvgPool2d {
  typename W::Tensor self{};
  typename W::IntPair output_size{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, output_size, out)
};

}  // namespace cormorant::ops
