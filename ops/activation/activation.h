// SPDX-License-Identifier: Apache-2.0
//
// activation: any function of one element, on int8. An element has 256 possible values, so the compiler computes all
// results and the kernel looks them up: out = lut[input + 128]. Sigmoid, gelu and logarithm differ in the table only,
// and so does a change of quantization parameters.
#pragma once

#include <cstdint>

#include "base/overlap.h"

namespace cormorant::ops {

template <class W>
struct QuantizedActivation {
  static constexpr const char* kName = "cortex_m::quantized_activation.out";
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor input{};
  typename W::Tensor lut{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("input", input);
    v("lut", lut);
    v("out", out);
  }
};

inline constexpr std::int32_t kTableEntries = 256;

}  // namespace cormorant::ops
