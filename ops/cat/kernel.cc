// SPDX-License-Identifier: Apache-2.0
#include "ops/cat/kernel.h"

#include "ops/load/move_plan.h"

namespace cormorant::ops {
namespace {

// PyTorch allows empty vectors anywhere in the list.
bool is_nothing(const Tensor& tensor) { return tensor.elements() == 0 && tensor.rank == 1; }

void check_part(Call& call, const Tensor& part, const Tensor& out, std::int32_t dim) {
  call.require(part.dtype == out.dtype, Error::bad_value);
  if (is_nothing(part)) return;
  call.require(part.rank == out.rank, Error::bad_shape);
  if (call.error() != Error::ok) return;
  for (std::int32_t i = 0; i < out.rank; ++i) {
    call.require(i == dim || part.sizes[i] == out.sizes[i], Error::bad_shape);
  }
  call.require(part.elements() == 0 || lies_like(part, out), Error::unsupported);
}

// Whether the tensor is far enough after the beginning of the output that its chunks can be copied in order.
bool is_behind(const CatPlan& plan, const CatPart& part) {
  return part.input >= plan.output + cat_distance(plan.rows, plan.row_bytes, part.bytes, part.offset);
}

}  // namespace

Error load_cat(Call& call) {
  Cat<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto& [tensors, signed_dim, out] = args;
  const std::int32_t dim = wrap_dim(signed_dim, out.rank);
  call.require(dim >= 0 && tensors.count > 0, Error::bad_value);
  if (call.error() != Error::ok) return call.error();

  auto* const plan = call.allocate_with<CatPlan, CatPart>(tensors.count);
  if (plan == nullptr) return call.error();
  auto* part = reinterpret_cast<CatPart*>(plan + 1);
  // Bytes of a chunk of size 1 along the axis; the dimensions outside it repeat.
  const auto unit = static_cast<std::uint32_t>(steps_of(out).bytes[dim]);
  const auto size = static_cast<std::uint32_t>(out.sizes[dim]);
  const std::uint32_t row_bytes = unit * size;
  *plan = {out.as<std::int8_t>(), row_bytes == 0 ? 0 : out.bytes() / row_bytes, row_bytes, tensors.count};
  std::uint32_t filled = 0;
  std::uint32_t inside = tensors.count;  // the one that is in the output's memory
  for (std::uint32_t i = 0; i < tensors.count; ++i) {
    Tensor tensor;
    if (!call.item(tensors, i, tensor)) return call.error();
    check_part(call, tensor, out, dim);
    if (call.error() != Error::ok) return call.error();
    const auto length = static_cast<std::uint32_t>(is_nothing(tensor) ? 0 : tensor.sizes[dim]);
    call.require(length <= size - filled, Error::bad_shape);  // what a hostile file adds up to must not wrap
    if (call.error() != Error::ok) return call.error();
    part[i] = {tensor.as<const std::int8_t>(), unit * length, unit * filled};
    filled += length;
    if (inside != tensors.count || !is_behind(*plan, part[i])) {
      call.require_apart(out, tensor);
    } else if (part[i].bytes != 0 && part[i].input < plan->output + out.bytes()) {
      inside = i;
    }
  }
  call.require(filled == size, Error::bad_shape);
  if (inside != tensors.count) {
    const CatPart first = part[inside];
    part[inside] = part[0];
    part[0] = first;
  }
  call.set_plan(plan);
  return call.error();
}

// Each tensor is one index of a new dimension.
Error load_stack(Call& call) {
  Cat<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto& [tensors, signed_dim, out] = args;
  const std::int32_t dim = wrap_dim(signed_dim, out.rank);
  call.require(dim >= 0 && tensors.count > 0, Error::bad_value);
  call.require(out.is_contiguous(), Error::unsupported);
  if (call.error() != Error::ok) return call.error();
  call.require(static_cast<std::uint32_t>(out.sizes[dim]) == tensors.count, Error::bad_shape);
  auto* const plan = call.allocate_with<CatPlan, CatPart>(tensors.count);
  if (plan == nullptr) return call.error();
  auto* part = reinterpret_cast<CatPart*>(plan + 1);
  const auto unit = static_cast<std::uint32_t>(steps_of(out).bytes[dim]);
  const std::uint32_t row_bytes = unit * tensors.count;
  *plan = {out.as<std::int8_t>(), row_bytes == 0 ? 0 : out.bytes() / row_bytes, row_bytes, tensors.count};
  for (std::uint32_t i = 0; i < tensors.count; ++i, ++part) {
    Tensor tensor;
    if (!call.item(tensors, i, tensor)) return call.error();
    call.require_apart(out, tensor);
    call.require(tensor.dtype == out.dtype && tensor.is_contiguous(), Error::unsupported);
    call.require(tensor.rank + 1 == out.rank, Error::bad_shape);
    if (call.error() != Error::ok) return call.error();
    for (std::int32_t d = 0; d < tensor.rank; ++d) {
      call.require(tensor.sizes[d] == out.sizes[d < dim ? d : d + 1], Error::bad_shape);
    }
    *part = {tensor.as<const std::int8_t>(), unit, unit * i};
  }
  call.set_plan(plan);
  return call.error();
}

}  // namespace cormorant::ops
