// SPDX-License-Identifier: Apache-2.0
//
// clamp: relu, relu6, hardtanh and clamp that no operator before them absorbed, on int8. Input and output share their
// quantization parameters, so the real bounds are integers and the operator is a byte-wise minimum and maximum.
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "base/overlap.h"
#include "ops/load/kernel_list.h"
#include "target/target.h"

#define CORMORANT_CLAMP_KERNELS(OURS, THEIRS, FOREIGN)                                             \
  OURS(clamp, scalar, scalar, load_clamp, execute, w8a8, Clamp)                                    \
  OURS(clamp, dsp, dsp, load_clamp, execute, w8a8, Clamp)                                          \
  OURS(clamp, mve, mve, load_clamp, execute, w8a8, Clamp)                                          \
  OURS(clamp, words, words, load_words_clamp, execute_words, w8a16, Clamp)                         \
  THEIRS(aten, clamp, out, any_cpu_mve, load_float_clamp, execute_float_clamp, any, FloatClamp)    \
  THEIRS(aten, hardtanh, out, any_cpu_mve, load_hardtanh, execute_float_clamp, f32, FloatHardtanh) \
  THEIRS(aten, relu, out, any_cpu_mve, load_relu, execute_float_clamp, f32, FloatRelu)
CORMORANT_NAMES(CORMORANT_CLAMP_KERNELS)

namespace cormorant::ops {

template <class W>
struct Clamp {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor input{};
  typename W::Int min{};
  typename W::Int max{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, min, max, out)
};

// The variant for a target; the scalar one runs everywhere.
constexpr const char* clamp_variant(const Target& target) {
  if (target.is_any() || target.isa == Isa::scalar) return names::cormorant_clamp_scalar;
  return target.isa == Isa::dsp ? names::cormorant_clamp_dsp : names::cormorant_clamp_mve;
}

}  // namespace cormorant::ops
