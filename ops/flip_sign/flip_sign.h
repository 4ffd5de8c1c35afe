// SPDX-License-Identifier: Apache-2.0
//
// flip_sign: between uint8 and int8. Both express the same numbers if their zero points are 128 apart, so that only the
// highest bit of each byte differs. A program whose inputs are pixels begins with it, in their own memory.
#pragma once

#include "base/fields.h"
#include "base/overlap.h"
#include "ops/load/kernel_list.h"
#include "target/target.h"

#define CORMORANT_FLIP_SIGN_KERNELS(OURS, THEIRS, FOREIGN)                 \
  OURS(flip_sign, scalar, scalar, load_flip_sign, execute, w8a8, FlipSign) \
  OURS(flip_sign, mve, mve, load_flip_sign, execute, w8a8, FlipSign)
CORMORANT_NAMES(CORMORANT_FLIP_SIGN_KERNELS)

namespace cormorant::ops {

template <class W>
struct FlipSign {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor input{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, out)
};

// Four bytes are a word on every CPU; only MVE has more.
constexpr const char* flip_sign_variant(const Target& target) {
  return target.is_any() || target.isa != Isa::mve ? names::cormorant_flip_sign_scalar : names::cormorant_flip_sign_mve;
}

}  // namespace cormorant::ops
