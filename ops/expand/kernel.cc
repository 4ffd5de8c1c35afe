// SPDX-License-Identifier: Apache-2.0
#include "ops/expand/kernel.h"

#include "ops/load/move_plan.h"

namespace cormorant::ops {

Error load_expand_copy(Call& call) {
  ExpandCopy<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const Tensor& self = args.self;
  const Tensor& out = args.out;
  call.require(self.dtype == out.dtype, Error::bad_value);
  call.require(self.rank <= out.rank && args.size.count == out.rank, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  const MoveSteps from = steps_of(self);
  MoveSteps steps;
  const std::int32_t added = out.rank - self.rank;
  for (std::int32_t i = 0; i < out.rank; ++i) {
    const std::int32_t wanted = args.size.items[i];
    call.require(wanted == out.sizes[i] || (wanted == -1 && i >= added), Error::bad_shape);
    if (i < added) continue;
    const std::int32_t size = self.sizes[i - added];
    call.require(size == out.sizes[i] || size == 1, Error::bad_shape);
    if (size != 1) steps.bytes[i] = from.bytes[i - added];
  }
  if (call.error() != Error::ok) return call.error();
  return plan_move(call, self, out, steps, 0);
}

// Kept out of line: the caller's frame is beneath everything that reads the arguments.
[[gnu::noinline]] static Error plan_repeat(Call& call, Repeat<TargetWorld>& args) {
  const Tensor& self = args.self;
  const Tensor& out = args.out;
  call.require(self.dtype == out.dtype, Error::bad_value);
  call.require(self.rank <= out.rank && args.repeats.count == out.rank, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  const MoveSteps steps = steps_of(self);
  const std::int32_t added = out.rank - self.rank;
  MoveNest nest;
  for (std::int32_t i = 0; i < out.rank; ++i) {
    const std::int32_t dim = out.dim_order[i];
    std::int32_t repeats = args.repeats.items[dim];
    const std::int32_t size = dim < added ? 1 : self.sizes[dim - added];
    call.require(is_repeated(size, repeats, out.sizes[dim]), Error::bad_shape);
    if (call.error() != Error::ok) return call.error();
    nest.add(repeats, 0);
    if (dim >= added) nest.add(size, steps.bytes[dim - added]);
  }
  if (call.error() != Error::ok) return call.error();
  return plan_nest(call, self, out, nest, 0);
}

Error load_repeat(Call& call) {
  Repeat<TargetWorld> args;
  return call.read_signature(args) ? plan_repeat(call, args) : call.error();
}

}  // namespace cormorant::ops
