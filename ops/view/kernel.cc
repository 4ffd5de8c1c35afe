// SPDX-License-Identifier: Apache-2.0
#include "ops/view/kernel.h"

namespace cormorant::ops {
namespace {

// Whether the bytes are in the logical order: a view keeps that, so it is the only order a copy of bytes can keep.
bool in_logical_order(const Tensor& tensor) {
  std::int32_t last = -1;
  for (std::size_t i = 0; i < tensor.rank; ++i) {
    const std::uint8_t dim = tensor.dim_order[i];
    if (tensor.sizes[dim] == 1) continue;
    if (dim < last) return false;
    last = dim;
  }
  return true;
}

}  // namespace

Error load_view_copy(Call& call) {
  ViewCopy<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto& [self, size, out] = args;
  call.require(self.dtype == out.dtype, Error::bad_value);
  call.require(self.elements() == out.elements(), Error::bad_shape);
  call.require(in_logical_order(self) && in_logical_order(out), Error::unsupported);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<ViewCopyPlan>();
  if (plan == nullptr) return call.error();
  *plan = {self.as<const std::int8_t>(), out.as<std::int8_t>(), out.bytes()};
  return Error::ok;
}

}  // namespace cormorant::ops
