// SPDX-License-Identifier: Apache-2.0
//
// Operands of any broadcast shapes, as loops over stretches. The result is written once, front to back in memory;
// dimensions that both operands traverse in the same way are one loop (ops/load/broadcast.h finds them). In the
// innermost loop, the stretch, an operand either advances or repeats one element, so an operator needs two inner loops:
// vector with vector, and vector with one element. [N, C, 1, 1] × [N, C, H, W] channels-last is a stretch of C elements
// inside loops over H · W and N; contiguous, it is a stretch of H · W elements with one element of the other operand,
// inside a loop over N · C.
#pragma once

#include <cstdint>

namespace cormorant {

// A loop around the stretch, inner ones first. Its steps lead from the last position of the loops inside it to the
// first position of its next turn.
struct BroadcastLoop {
  static constexpr std::uint32_t kStateBytes = 12;
  std::uint32_t turns;
  std::int32_t self_step;
  std::int32_t other_step;
};

struct Broadcast {
  const std::int8_t* self;
  const std::int8_t* other;
  std::int8_t* out;
  const BroadcastLoop* loops;
  std::uint32_t count;  // elements of a stretch
  std::uint8_t outer;   // how many loops
  bool self_repeats;    // one element of self for the whole stretch; other then advances
  bool other_repeats;   // the same for other
};

inline constexpr std::uint32_t kMaxBroadcastLoops = 6;

// Calls stretch(self, other, out) for each, in the order of the result; steps count elements.
template <class Element = std::int8_t, class F>
inline void for_each_stretch(const Broadcast& b, F&& stretch) {
  std::uint32_t turn[kMaxBroadcastLoops] = {};
  const auto* self = reinterpret_cast<const Element*>(b.self);
  const auto* other = reinterpret_cast<const Element*>(b.other);
  auto* out = reinterpret_cast<Element*>(b.out);
  for (;;) {
    stretch(self, other, out);
    out += b.count;
    std::uint32_t i = 0;
    for (; i < b.outer && ++turn[i] == b.loops[i].turns; ++i) turn[i] = 0;
    if (i == b.outer) return;
    self += b.loops[i].self_step;
    other += b.loops[i].other_step;
  }
}

// The same for kernels; `plan` is passed through. One copy for all operators, in kernels/broadcast_scalar.cc.
using ComputeStretch = void (*)(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out);
void run_stretches(const Broadcast& broadcast, ComputeStretch stretch, const void* plan);

// Of the whole result. (Not inline: clang 19 vectorizes the loop for MVE with a gather of the wrong stride.)
std::uint32_t elements_of(const Broadcast& broadcast);

// How many consecutive stretches of self use the same vector of other (one value per channel, channels-last). Such
// stretches are short, and a kernel that takes all of them at once saves their setup.
inline std::uint32_t rows_of(const Broadcast& b) {
  const bool same_other = b.outer != 0 && !b.other_repeats && b.loops[0].other_step == 0;
  return same_other && b.loops[0].self_step == static_cast<std::int32_t>(b.count) ? b.loops[0].turns : 1;
}
// Like run_stretches, but a call takes all rows of a stretch.
void run_rows(const Broadcast& broadcast, ComputeStretch rows, const void* plan);

}  // namespace cormorant
