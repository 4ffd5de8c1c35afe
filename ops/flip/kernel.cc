// SPDX-License-Identifier: Apache-2.0
#include "ops/flip/kernel.h"

#include "ops/load/move_plan.h"

namespace cormorant::ops {

Error load_flip(Call& call) {
  Flip<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const Tensor& self = args.self;
  const Tensor& out = args.out;
  call.require(self.dtype == out.dtype, Error::bad_value);
  call.require(self.rank == out.rank && args.dims.count <= out.rank, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  for (std::int32_t i = 0; i < out.rank; ++i) call.require(out.sizes[i] == self.sizes[i], Error::bad_shape);
  const MoveSteps forward = steps_of(self);
  MoveSteps steps = forward;
  std::int32_t first = 0;
  for (std::uint32_t i = 0; i < args.dims.count; ++i) {
    const std::int32_t dim = wrap_dim(args.dims.items[i], self.rank);
    // Twice would lead to addresses before the tensor.
    call.require(dim >= 0 && steps.bytes[dim] == forward.bytes[dim], Error::bad_value);
    if (call.error() != Error::ok) return call.error();
    if (self.sizes[dim] <= 1) continue;
    first += (self.sizes[dim] - 1) * forward.bytes[dim];
    steps.bytes[dim] = -forward.bytes[dim];
  }
  if (call.error() != Error::ok) return call.error();
  return plan_move(call, self, out, steps, first);
}

}  // namespace cormorant::ops
