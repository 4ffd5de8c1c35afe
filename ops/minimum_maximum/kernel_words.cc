// SPDX-License-Identifier: Apache-2.0
#include "ops/broadcast_load.h"
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
  MinimumMaximum<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const bool is_typed = args.self.dtype == DType::i16 && args.other.dtype == DType::i16 && args.out.dtype == DType::i16;
  call.require(is_typed, Error::bad_value);
  LoadedBroadcast loaded;
  if (call.error() == Error::ok) read_broadcast(call, args.self, args.other, args.out, loaded);
  if (call.error() != Error::ok) return call.error();
  swap_repeating(loaded);
  Plan plan{};
  return store_plan(call, plan, loaded);
}

CORMORANT_KERNELS(CORMORANT_MINIMUM_MAXIMUM_KERNELS, words)

}  // namespace cormorant::ops::minimum_maximum
