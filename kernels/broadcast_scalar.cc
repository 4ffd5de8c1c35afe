// SPDX-License-Identifier: Apache-2.0
#include "kernels/broadcast.h"

namespace cormorant {

void run_stretches(const Broadcast& broadcast, ComputeStretch stretch, const void* plan) {
  for_each_stretch(broadcast, [&](const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
    stretch(plan, self, other, out);
  });
}

std::uint32_t elements_of(const Broadcast& broadcast) {
  std::uint32_t elements = broadcast.count;
  for (std::uint32_t i = 0; i < broadcast.outer; ++i) elements *= broadcast.loops[i].turns;
  return elements;
}

void run_rows(const Broadcast& broadcast, ComputeStretch rows, const void* plan) {
  const std::uint32_t turns = rows_of(broadcast);
  if (turns == 1) {
    run_stretches(broadcast, rows, plan);
    return;
  }
  // Without its innermost loop; the others now start from that loop's first position, not its last.
  Broadcast b = broadcast;
  BroadcastLoop loops[kMaxBroadcastLoops];
  --b.outer;
  for (std::uint32_t i = 0; i < b.outer; ++i) {
    loops[i] = b.loops[i + 1];
    loops[i].self_step += static_cast<std::int32_t>((turns - 1) * b.count);
  }
  b.loops = loops;
  b.count *= turns;
  run_stretches(b, rows, plan);
}

}  // namespace cormorant
