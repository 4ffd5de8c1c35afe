// SPDX-License-Identifier: Apache-2.0
//
// Softmax over one dimension that is innermost in memory: out[i] = exp(x[i]) / Σ exp(x[j]). What compiler and kernels
// agree on. The output always has the scale 1/256 and the zero point −128.
#pragma once

#include <cstdint>

namespace cormorant::ops::softmax {

template <class W>
struct Softmax {
  static constexpr const char* kName = "cortex_m::softmax.out";
  typename W::Tensor input{};
  typename W::Int dim{};
  typename W::Int input_zero_point{};  // without effect: only differences to the largest value count
  typename W::Int output_zero_point{};
  typename W::Int input_multiplier{};
  typename W::Int input_shift{};
  typename W::Int diff_min{};
  typename W::Out out{};

  template <class V>
  void visit(V&& v) {
    v("input", input);
    v("dim", dim);
    v("input_zero_point", input_zero_point);
    v("output_zero_point", output_zero_point);
    v("input_multiplier", input_multiplier);
    v("input_shift", input_shift);
    v("diff_min", diff_min);
    v("out", out);
  }
};

inline constexpr double kOutputScale = 1.0 / 256;
inline constexpr std::int32_t kOutputZeroPoint = -128;

// Exponents are computed with 5 integer and 26 fractional bits.
inline constexpr std::int32_t kInputIntegerBits = 5;

// The sum of exponentials has 12 integer bits. A row of 4096 equal values would need one more.
inline constexpr std::int32_t kMaxRow = 4095;

}  // namespace cormorant::ops::softmax
