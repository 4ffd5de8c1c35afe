// SPDX-License-Identifier: Apache-2.0
#include "kernels/broadcast.h"

namespace cormorant {

void run_stretches(const Broadcast& broadcast, Stretch stretch, const void* plan) {
  for_each_stretch(broadcast, [&](const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
    stretch(plan, self, other, out);
  });
}

}  // namespace cormorant
