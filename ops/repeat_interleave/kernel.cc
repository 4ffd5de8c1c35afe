// SPDX-License-Identifier: Apache-2.0
#include "ops/repeat_interleave/kernel.h"

#include "ops/load/move_plan.h"

namespace cormorant::ops {

// Kept out of line: the caller's frame is beneath everything that reads the arguments.
[[gnu::noinline]] static Error plan_repeat_interleave(Call& call, RepeatInterleave<TargetWorld>& args) {
  const Tensor& self = args.self;
  const Tensor& out = args.out;
  call.require(self.dtype == out.dtype, Error::bad_value);
  call.require(self.rank == out.rank && args.repeats.count == out.rank, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  const MoveSteps steps = steps_of(self);
  MoveNest nest;
  for (std::size_t i = 0; i < out.rank; ++i) {
    const std::uint8_t dim = out.dim_order[i];
    std::int32_t repeats = args.repeats.items[dim];
    const std::int32_t size = self.sizes[dim];
    call.require(is_repeated(size, repeats, out.sizes[dim]), Error::bad_shape);
    if (call.error() != Error::ok) return call.error();
    nest.add(size, steps.bytes[dim]);
    nest.add(repeats, 0);
  }
  if (call.error() != Error::ok) return call.error();
  return plan_nest(call, self, out, nest, 0);
}

Error load_repeat_interleave(Call& call) {
  RepeatInterleave<TargetWorld> args;
  return call.read_signature(args) ? plan_repeat_interleave(call, args) : call.error();
}

}  // namespace cormorant::ops
