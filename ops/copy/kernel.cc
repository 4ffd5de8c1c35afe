// SPDX-License-Identifier: Apache-2.0
#include "ops/copy/kernel.h"

#include "ops/load/move_plan.h"

namespace cormorant::ops {
namespace {

// The next dimension that is not of size 1; the rank if there is none.
std::size_t next_dim(const Tensor& tensor, std::size_t from) {
  while (from < tensor.rank && tensor.sizes[from] == 1) ++from;
  return from;
}

// Dimensions other than those of size 1 must be the same on both sides, in the same logical order.
Error plan_copy(Call& call, const Tensor& self, const Tensor& out) {
  call.require(self.dtype == out.dtype, Error::unsupported);  // a conversion
  const MoveSteps from = steps_of(self);
  MoveSteps steps;
  std::size_t i = next_dim(self, 0);
  std::size_t j = next_dim(out, 0);
  while (i < self.rank && j < out.rank && self.sizes[i] == out.sizes[j]) {
    steps.bytes[j] = from.bytes[i];
    i = next_dim(self, i + 1);
    j = next_dim(out, j + 1);
  }
  call.require(i == self.rank && j == out.rank, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  return plan_move(call, self, out, steps, 0);
}

template <class Signature>
Error load(Call& call) {
  Signature args;
  if (!call.read_signature(args)) return call.error();
  return plan_copy(call, args.self, args.out);
}

}  // namespace

Error load_plain_copy(Call& call) { return load<PlainCopy<TargetWorld>>(call); }
Error load_clone(Call& call) { return load<Clone<TargetWorld>>(call); }
Error load_to_copy(Call& call) { return load<ToCopy<TargetWorld>>(call); }
Error load_dim_order_copy(Call& call) { return load<DimOrderCopy<TargetWorld>>(call); }
Error load_squeeze_copy(Call& call) { return load<SqueezeCopy<TargetWorld>>(call); }
Error load_squeeze_dims_copy(Call& call) { return load<SqueezeDimsCopy<TargetWorld>>(call); }

}  // namespace cormorant::ops
