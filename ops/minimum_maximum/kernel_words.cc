// SPDX-License-Identifier: Apache-2.0
#include "ops/load/broadcast.h"
#include "ops/minimum_maximum/kernel.h"

namespace cormorant::ops::minimum_maximum {
namespace {

template <bool kLargest>
void execute_words(const void* raw) {
  const Broadcast b = static_cast<const Plan*>(raw)->tensors;
  const std::uint32_t step = b.other_repeats ? 0 : 1;
  for_each_stretch<std::int16_t>(b, [&](const std::int16_t* self, const std::int16_t* other, std::int16_t* out) {
    for (std::uint32_t i = b.count; i > 0; --i, ++self, other += step) {
      *out++ = (*self < *other) == kLargest ? *other : *self;
    }
  });
}

}  // namespace

Error load_words(Call& call) {
  const auto plan_words = [](Call& its_call, const MinimumMaximum<TargetWorld>& /*arguments*/,
                             LoadedBroadcast& loaded) {
    swap_repeating(loaded);
    Plan plan{};
    return store_plan(its_call, plan, loaded);
  };
  return load_words_broadcast<MinimumMaximum<TargetWorld>>(call, plan_words);
}

CORMORANT_KERNELS(CORMORANT_MINIMUM_MAXIMUM_KERNELS, words)

}  // namespace cormorant::ops::minimum_maximum
