// SPDX-License-Identifier: Apache-2.0
//
// repeat_interleave: along each dimension every entry as often as `repeats` says, one after another (0 0 1 1 2 2).
// Upsampling to the nearest pixel by whole factors is this, in whatever memory order the image has. The result's sizes
// are the input's times the repeats.
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "ops/load/kernel_list.h"
#include "target/target.h"

#define CORMORANT_REPEAT_INTERLEAVE_KERNELS(OURS, THEIRS, FOREIGN)                                             \
  OURS(repeat_interleave, scalar, scalar, load_repeat_interleave, execute_move<kLoops>, any, RepeatInterleave) \
  OURS(repeat_interleave, dsp, dsp, load_repeat_interleave, execute_move<kLoops>, any, RepeatInterleave)       \
  OURS(repeat_interleave, mve, mve, load_repeat_interleave, execute_move<kLoops>, any, RepeatInterleave)
CORMORANT_NAMES(CORMORANT_REPEAT_INTERLEAVE_KERNELS)

namespace cormorant::ops {

template <class W>
struct RepeatInterleave {
  typename W::Tensor self{};
  typename W::IntList repeats{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, repeats, out)
};

constexpr const char* repeat_interleave_variant(const Target& target) {
  if (target.is_any() || target.isa == Isa::scalar) return names::cormorant_repeat_interleave_scalar;
  return target.isa == Isa::dsp ? names::cormorant_repeat_interleave_dsp : names::cormorant_repeat_interleave_mve;
}

}  // namespace cormorant::ops
