// SPDX-License-Identifier: Apache-2.0
//
// One row of softmax in float, whatever computes its exponentials.
#pragma once

#include "base/float_math.h"
#include "runtime/kernel.h"

namespace cormorant::ops::softmax {

struct FloatPlan {
  static constexpr std::uint32_t kStateBytes = 20;
  const float* input;  // may be the output
  float* output;
  std::uint32_t outer, size, inner;
};

Error load_float(Call& call);

// to = exp(from − largest), along the row; returns their sum.
float raise_row(const FloatPlan& p, const float* from, float* to, float largest);

template <bool is_log, class Raise>
inline void softmax_row(const FloatPlan& p, const float* from, float* to, Raise raise) {
  float largest = -float_math::kInfinity;
  for (std::uint32_t k = 0; k < p.size; ++k) {
    const float x = from[k * p.inner];
    largest = float_math::is_less(largest, x) ? x : largest;
  }
  float sum = 0;
  if constexpr (is_log) {
    for (std::uint32_t k = 0; k < p.size; ++k) {
      const float distance = from[k * p.inner] - largest;
      to[k * p.inner] = distance;
      sum += float_math::exp(distance);
    }
    const float logarithm = float_math::log(sum);
    for (std::uint32_t k = 0; k < p.size; ++k) to[k * p.inner] -= logarithm;
  } else {
    sum = raise(p, from, to, largest);
    for (std::uint32_t k = 0; k < p.size; ++k) to[k * p.inner] /= sum;
  }
}

}  // namespace cormorant::ops::softmax
