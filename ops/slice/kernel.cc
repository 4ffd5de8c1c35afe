// SPDX-License-Identifier: Apache-2.0
#include "ops/slice/kernel.h"

#include "ops/load/move_plan.h"

namespace cormorant::ops {
namespace {

// A bound as Python means it: from the end if negative, and never outside the dimension. size is not negative.
std::int32_t clamp_bound(std::int32_t bound, std::int32_t size) {
  if (bound < 0) bound += size;
  return bound < 0 ? 0 : bound > size ? size : bound;
}

}  // namespace

Error load_slice_copy(Call& call) {
  SliceCopy<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto& [self, signed_dim, from, to, step, out] = args;
  const std::int32_t dim = wrap_dim(signed_dim, self.rank);
  call.require(dim >= 0 && step >= 1 && self.dtype == out.dtype, Error::bad_value);
  call.require(self.rank == out.rank, Error::bad_shape);
  // Steps below are up to twice the tensor's size.
  call.require(self.bytes() <= 0x3FFFFFFF, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  const std::int32_t size = self.sizes[dim];
  const std::int32_t start = clamp_bound(from.value_or(0), size);
  const std::int32_t end = clamp_bound(to.value_or(size), size);
  const std::int32_t length = end <= start ? 0 : (end - start - 1) / step + 1;
  for (std::int32_t i = 0; i < out.rank; ++i) {
    call.require(out.sizes[i] == (i == dim ? length : self.sizes[i]), Error::bad_shape);
  }
  if (call.error() != Error::ok) return call.error();
  MoveSteps steps = steps_of(self);
  const std::int32_t first = length == 0 ? 0 : start * steps.bytes[dim];
  if (length > 1) steps.bytes[dim] *= step;
  return plan_move(call, self, out, steps, first);
}

Error load_select_copy(Call& call) {
  SelectCopy<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto& [self, signed_dim, signed_index, out] = args;
  const std::int32_t dim = wrap_dim(signed_dim, self.rank);
  call.require(dim >= 0 && self.dtype == out.dtype, Error::bad_value);
  call.require(self.rank == out.rank + 1, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  const std::int32_t index = wrap_dim(signed_index, static_cast<std::size_t>(self.sizes[dim]));
  call.require(index >= 0, Error::bad_value);
  const MoveSteps from = steps_of(self);
  MoveSteps steps;
  for (std::int32_t i = 0; i < out.rank; ++i) {
    const std::int32_t source = i < dim ? i : i + 1;
    call.require(out.sizes[i] == self.sizes[source], Error::bad_shape);
    steps.bytes[i] = from.bytes[source];
  }
  if (call.error() != Error::ok) return call.error();
  return plan_move(call, self, out, steps, index * from.bytes[dim]);
}

}  // namespace cormorant::ops
