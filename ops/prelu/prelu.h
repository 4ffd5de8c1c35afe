// SPDX-License-Identifier: Apache-2.0
//
// max(x, 0) + slope · min(x, 0) with a slope per channel (dimension 1). What compiler and kernels agree on. With one
// slope for all it is a leaky ReLU, whose table belongs to ops/activation.
//
// A difference of bytes has nine bits, so a factor in 32-bit arithmetic is exact to 2^-14 steps and one shift suffices
// for all channels: out = clamp(((x − zx) · factor + offset) >> shift), where offset holds the output's zero point and
// the half for rounding. Sums that could overflow are not compiled.
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "base/overlap.h"
#include "ops/load/kernel_list.h"
#include "target/target.h"

#define CORMORANT_PRELU_KERNELS(OURS, THEIRS, FOREIGN)    \
  OURS(prelu, scalar, scalar, load, execute, w8a8, Prelu) \
  OURS(prelu, mve, mve, load, execute, w8a8, Prelu)       \
  OURS(prelu, float, any_cpu, load_float, execute_float, f32, FloatBinary)
CORMORANT_NAMES(CORMORANT_PRELU_KERNELS)

namespace cormorant::ops::prelu {

template <class W>
struct Prelu {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor input{};
  typename W::Tensor factors{};  // i32, of negative inputs; one per channel: [1, C, 1, …], of the input's rank
  typename W::Int positive_factor{};
  typename W::Int input_zero_point{};
  typename W::Int offset{};
  typename W::Int shift{};
  typename W::Int activation_min{};
  typename W::Int activation_max{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, factors, positive_factor, input_zero_point, offset, shift, activation_min, activation_max,
                   out)
};

// DSP cores execute the scalar one: a byte load, a choice and an MLA per element leave nothing for pairs to save.
constexpr const char* prelu_variant(const Target& target) {
  return !target.is_any() && target.isa == Isa::mve ? names::cormorant_prelu_mve : names::cormorant_prelu_scalar;
}

}  // namespace cormorant::ops::prelu
