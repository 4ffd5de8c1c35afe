// SPDX-License-Identifier: Apache-2.0
//
// Two operands of any broadcast shapes as loops over stretches. The result is written once, front to back in memory;
// dimensions that both operands run through in the same way are one loop (ops/broadcast_load.h finds them). In the
// innermost, the stretch, an operand either runs along or stands still, so that an operator needs two inner loops:
// vector with vector and vector with one element. [N, C, 1, 1] × [N, C, H, W] is, channels-last, a stretch of C
// elements under H · W and N; contiguous it is a stretch of H · W elements with one element of the other under N · C.
#pragma once

#include <cstdint>

namespace cormorant {

// A loop around the stretch, inner ones first. The steps lead from the last place of the loops inside it to the first
// of its next turn.
struct BroadcastLoop {
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
  bool self_repeats;    // one element of self for the whole stretch; then other runs
  bool other_repeats;   // the same for other
};

inline constexpr std::uint32_t kMaxBroadcastLoops = 6;

// stretch(self, other, out) for each, in the order of the result; steps count elements.
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

// The same for kernels: `plan` is passed on. Once for all operators, in kernels/broadcast_scalar.cc.
using Stretch = void (*)(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out);
void run_stretches(const Broadcast& broadcast, Stretch stretch, const void* plan);

// For the whole result. (Not inline: clang 19 vectorises the loop for MVE with a gather of the wrong stride.)
std::uint32_t elements_of(const Broadcast& broadcast);

// A vector of other that serves many stretches of self, one after another (one value per channel, channels-last): how
// many it serves. Stretches are short then, and a kernel that takes all of them at once saves their beginning.
inline std::uint32_t rows_of(const Broadcast& b) {
  const bool same_other = b.outer != 0 && !b.other_repeats && b.loops[0].other_step == 0;
  return same_other && b.loops[0].self_step == static_cast<std::int32_t>(b.count) ? b.loops[0].turns : 1;
}
// As run_stretches, but the stretch takes all its rows.
void run_rows(const Broadcast& broadcast, Stretch rows, const void* plan);

}  // namespace cormorant
