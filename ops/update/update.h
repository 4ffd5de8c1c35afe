// SPDX-License-Identifier: Apache-2.0
//
// A tensor of which a part is replaced. If the result is the tensor's own memory, as a state's is, this costs only as
// much as the part:
//   update_at     entries of source go to the positions that an index holds: a row of a cache. A negative index counts
//                 from the end; one outside the dimension is ignored (PyTorch refuses it).
//   update_part   the same at a known position
//   update_shift  all entries move by as many as source has, which fill the gap: a delay line
//   update_ring   a delay line that does not move: source takes the oldest entry's place, and the entries that are
//                 read, some steps apart, are copied out
#pragma once

#include "base/fields.h"
#include "base/overlap.h"
#include "ops/load/kernel_list.h"
#include "target/target.h"

#define CORMORANT_UPDATE_KERNELS(OURS, THEIRS, FOREIGN)                                                 \
  OURS(update_at, scalar, scalar, load_update_at, execute_update_at<kLoops>, any, UpdateAt)             \
  OURS(update_at, dsp, dsp, load_update_at, execute_update_at<kLoops>, any, UpdateAt)                   \
  OURS(update_at, mve, mve, load_update_at, execute_update_at<kLoops>, any, UpdateAt)                   \
  OURS(update_part, scalar, scalar, load_update_part, execute_update_part<kLoops>, any, UpdatePart)     \
  OURS(update_part, dsp, dsp, load_update_part, execute_update_part<kLoops>, any, UpdatePart)           \
  OURS(update_part, mve, mve, load_update_part, execute_update_part<kLoops>, any, UpdatePart)           \
  OURS(update_shift, scalar, scalar, load_update_shift, execute_update_shift<kLoops>, any, UpdateShift) \
  OURS(update_shift, dsp, dsp, load_update_shift, execute_update_shift<kLoops>, any, UpdateShift)       \
  OURS(update_shift, mve, mve, load_update_shift, execute_update_shift<kLoops>, any, UpdateShift)       \
  OURS(update_ring, scalar, scalar, load_update_ring, execute_update_ring<kLoops>, any, UpdateRing)     \
  OURS(update_ring, dsp, dsp, load_update_ring, execute_update_ring<kLoops>, any, UpdateRing)           \
  OURS(update_ring, mve, mve, load_update_ring, execute_update_ring<kLoops>, any, UpdateRing)
CORMORANT_NAMES(CORMORANT_UPDATE_KERNELS)

namespace cormorant::ops {

// out = self, but out[i, index[j], k] = source[i, j, k]
template <class W>
struct UpdateAt {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Int dim{};
  typename W::Tensor index{};
  typename W::Tensor source{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, dim, index, source, out)
};

// out = self, but out[i, start + j, k] = source[i, j, k]
template <class W>
struct UpdatePart {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Int dim{};
  typename W::Int start{};
  typename W::Tensor source{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, dim, start, source, out)
};

// out = self without its first entries and then source; in front: source and then self without its last ones
template <class W>
struct UpdateShift {
  static constexpr Overlap kOverlap = Overlap::in_place;
  typename W::Tensor self{};
  typename W::Int dim{};
  typename W::Bool in_front{};
  typename W::Tensor source{};
  typename W::Out out{};

  CORMORANT_FIELDS(self, dim, in_front, source, out)
};

// next = self [entries, elements of an entry], but the entry at `position`, the oldest, is source [1, elements]; the
// next one is now the oldest, and its index is next_position. out [taps, elements] has every step-th entry, the oldest
// first: the last is source, so there are step * (taps - 1) + 1 entries.
template <class W>
struct UpdateRing {
  static constexpr Overlap kOverlap = Overlap::in_place;  // of self and of position alone: see load
  typename W::Tensor self{};
  typename W::Tensor position{};
  typename W::Tensor source{};
  typename W::Int step{};
  typename W::Out out{};
  typename W::Out next{};
  typename W::Out next_position{};

  CORMORANT_FIELDS(self, position, source, step, out, next, next_position)
};

constexpr const char* choose_variant(const Target& target, const char* scalar, const char* dsp, const char* mve) {
  if (target.is_any() || target.isa == Isa::scalar) return scalar;
  return target.isa == Isa::dsp ? dsp : mve;
}
constexpr const char* update_at_variant(const Target& target) {
  return choose_variant(target, names::cormorant_update_at_scalar, names::cormorant_update_at_dsp,
                        names::cormorant_update_at_mve);
}
constexpr const char* update_part_variant(const Target& target) {
  return choose_variant(target, names::cormorant_update_part_scalar, names::cormorant_update_part_dsp,
                        names::cormorant_update_part_mve);
}
constexpr const char* update_shift_variant(const Target& target) {
  return choose_variant(target, names::cormorant_update_shift_scalar, names::cormorant_update_shift_dsp,
                        names::cormorant_update_shift_mve);
}
constexpr const char* update_ring_variant(const Target& target) {
  return choose_variant(target, names::cormorant_update_ring_scalar, names::cormorant_update_ring_dsp,
                        names::cormorant_update_ring_mve);
}

}  // namespace cormorant::ops
