// SPDX-License-Identifier: Apache-2.0
#include "ops/split/kernel.h"

#include "ops/load/move_plan.h"

namespace cormorant::ops {
namespace {

// One index of the dimension, which the part does not have.
void check_place(Call& call, const Tensor& part, const Tensor& self, std::int32_t dim) {
  call.require(part.dtype == self.dtype, Error::bad_value);
  call.require(part.rank + 1 == self.rank, Error::bad_shape);
  if (call.error() != Error::ok) return;
  for (std::int32_t i = 0; i < part.rank; ++i) {
    call.require(part.sizes[i] == self.sizes[i < dim ? i : i + 1], Error::bad_shape);
  }
  call.require(part.is_contiguous() && self.is_contiguous(), Error::unsupported);
}

void check_part(Call& call, const Tensor& part, const Tensor& self, std::int32_t dim) {
  call.require(part.dtype == self.dtype, Error::bad_value);
  call.require(part.rank == self.rank, Error::bad_shape);
  if (call.error() != Error::ok) return;
  for (std::int32_t i = 0; i < self.rank; ++i) {
    call.require(i == dim || part.sizes[i] == self.sizes[i], Error::bad_shape);
  }
  call.require(part.elements() == 0 || lies_like(part, self), Error::unsupported);
}

Error plan_split(Call& call, const Tensor& self, std::int32_t signed_dim, const TensorList& outs, bool unbinds) {
  const std::int32_t dim = wrap_dim(signed_dim, self.rank);
  call.require(dim >= 0, Error::bad_value);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.allocate_with<SplitPlan, SplitPart>(outs.count);
  if (plan == nullptr) return call.error();
  auto* part = reinterpret_cast<SplitPart*>(plan + 1);
  const auto unit = static_cast<std::uint32_t>(steps_of(self).bytes[dim]);
  const auto size = static_cast<std::uint32_t>(self.sizes[dim]);
  const std::uint32_t row_bytes = unit * size;
  *plan = {self.as<const std::int8_t>(), row_bytes == 0 ? 0 : self.bytes() / row_bytes, row_bytes, outs.count};
  std::uint32_t filled = 0;
  for (std::uint32_t i = 0; i < outs.count; ++i, ++part) {
    Tensor tensor;
    if (!call.item(outs, i, tensor)) return call.error();
    call.require(!tensor.constant, Error::bad_constant);  // a store to flash
    call.require_apart(tensor, self);
    unbinds ? check_place(call, tensor, self, dim) : check_part(call, tensor, self, dim);
    if (call.error() != Error::ok) return call.error();
    const auto length = unbinds ? 1U : static_cast<std::uint32_t>(tensor.sizes[dim]);
    call.require(length <= size - filled, Error::bad_shape);  // what a hostile file adds up to must not wrap
    if (call.error() != Error::ok) return call.error();
    filled += length;
    *part = {tensor.as<std::int8_t>(), unit * length};
  }
  call.require(filled == size, Error::bad_shape);
  call.set_plan(plan);
  return call.error();
}

}  // namespace

Error load_split_with_sizes_copy(Call& call) {
  SplitWithSizesCopy args;
  if (!call.read_signature(args)) return call.error();
  return plan_split(call, args.self, args.dim, args.out, false);
}

Error load_split_copy(Call& call) {
  SplitCopy args;
  if (!call.read_signature(args)) return call.error();
  return plan_split(call, args.self, args.dim, args.out, false);
}

Error load_unbind_copy(Call& call) {
  UnbindCopy args;
  if (!call.read_signature(args)) return call.error();
  return plan_split(call, args.self, args.dim, args.out, true);
}

}  // namespace cormorant::ops
