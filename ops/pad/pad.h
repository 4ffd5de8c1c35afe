// SPDX-License-Identifier: Apache-2.0
//
// pad: a tensor with a border of one value. cortex_m::pad's two lists have four entries, for the dimensions in *memory*
// order, outermost first; tensors of lower rank use the last ones. A 4-D tensor whose layout is ambiguous (one channel,
// or one pixel) counts as channels-last.
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "base/overlap.h"
#include "ops/load/kernel_list.h"

#define CORMORANT_PAD_KERNELS(OURS, THEIRS, FOREIGN)                                   \
  THEIRS(cortex_m, pad, out, scalar_dsp_mve, load_pad, execute_pad<kLoops>, w8a8, Pad) \
  OURS(pad, words, words, load_words_pad, execute_words_pad, w8a16, Pad)               \
  THEIRS(aten, constant_pad_nd, out, any_cpu, load_constant_pad, execute_constant_pad, f32, ConstantPad)
CORMORANT_NAMES(CORMORANT_PAD_KERNELS)

namespace cormorant::ops {

template <class W>
struct Pad {
  static constexpr Overlap kOverlap = Overlap::covered;
  typename W::Tensor input{};
  typename W::IntList pre_pad{};
  typename W::IntList post_pad{};
  typename W::Int pad_value{};
  typename W::Out out{};

  CORMORANT_FIELDS(input, pre_pad, post_pad, pad_value, out)
};

inline constexpr int kPadRank = 4;

}  // namespace cormorant::ops
