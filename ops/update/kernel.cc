// SPDX-License-Identifier: Apache-2.0
#include "ops/update/kernel.h"

#include "ops/load/move_plan.h"
#include "ops/load/planned.h"

namespace cormorant::ops {
namespace {

// `entries` of source replace as many of self along the dimension.
Error plan_rows(const Tensor& self, std::int32_t dim, const Tensor& source, const Tensor& out, UpdatePlan& plan) {
  if (self.dtype != out.dtype || source.dtype != out.dtype) return Error::unsupported;
  if (dim < 0 || out.rank == 0 || source.rank != out.rank || !same_sizes(self, out)) return Error::bad_shape;
  for (std::int32_t i = 0; i < out.rank; ++i) {
    if (i != dim && source.sizes[i] != out.sizes[i]) return Error::bad_shape;
  }
  if (!lies_like(self, out) || !lies_like(source, out)) return Error::unsupported;
  const auto unit = static_cast<std::uint32_t>(steps_of(out).bytes[dim]);
  const std::uint32_t row_bytes = unit * static_cast<std::uint32_t>(out.sizes[dim]);
  const bool is_empty = out.bytes() == 0;  // nothing is moved, whatever the other sizes are
  plan = {.self = self.as<const std::int8_t>(),
          .output = out.as<std::int8_t>(),
          .source = source.as<const std::int8_t>(),
          .rows = is_empty ? 0 : out.bytes() / row_bytes,
          .row_bytes = row_bytes,
          .part_bytes = is_empty ? 0 : unit * static_cast<std::uint32_t>(source.sizes[dim]),
          .first = 0};
  return Error::ok;
}

}  // namespace

Error plan_update_at(const UpdateAt<TargetWorld>& args, UpdateAtPlan& plan) {
  const auto& [self, signed_dim, index, source, out] = args;
  const std::int32_t dim = dim_of(signed_dim, out);
  if (!is_integer(index.dtype)) return Error::unsupported;
  if (const Error error = plan_rows(self, dim, source, out, plan.rows); error != Error::ok) return error;
  plan.count = static_cast<std::uint32_t>(index.elements());
  if (index.rank > 1 || plan.count != static_cast<std::uint32_t>(source.sizes[dim])) return Error::bad_shape;
  plan.index = index.data;
  plan.index_type = index.dtype;
  plan.size = static_cast<std::uint32_t>(out.sizes[dim]);
  plan.unit = static_cast<std::uint32_t>(steps_of(out).bytes[dim]);
  return Error::ok;
}

Error plan_update_part(const UpdatePart<TargetWorld>& args, UpdatePlan& plan) {
  const auto& [self, signed_dim, start, source, out] = args;
  const std::int32_t dim = dim_of(signed_dim, out);
  if (const Error error = plan_rows(self, dim, source, out, plan); error != Error::ok) return error;
  if (start < 0 || source.sizes[dim] > out.sizes[dim] || start > out.sizes[dim] - source.sizes[dim]) {
    return Error::bad_value;
  }
  plan.first = static_cast<std::uint32_t>(start) * static_cast<std::uint32_t>(steps_of(out).bytes[dim]);
  return Error::ok;
}

Error plan_update_shift(const UpdateShift<TargetWorld>& args, UpdatePlan& plan) {
  const auto& [self, signed_dim, in_front, source, out] = args;
  const std::int32_t dim = dim_of(signed_dim, out);
  if (const Error error = plan_rows(self, dim, source, out, plan); error != Error::ok) return error;
  if (source.sizes[dim] > out.sizes[dim]) return Error::bad_shape;
  plan.first = in_front ? 0 : plan.row_bytes - plan.part_bytes;
  return Error::ok;
}

// Kept out of line: the caller's frame is beneath everything that reads the arguments.
[[gnu::noinline]] static Error plan_update_ring(Call& call, const UpdateRing<TargetWorld>& a) {
  const auto require_same_or_apart = [&](const Tensor& next, const Tensor& kept) {
    if (next.data != kept.data) call.require_apart(next, kept);
  };
  require_same_or_apart(a.next, a.self);
  require_same_or_apart(a.next_position, a.position);
  for (const Tensor* read : {&a.self, &a.position, &a.source}) call.require_apart(a.out, *read);
  for (const Tensor* read : {&a.position, &a.source}) call.require_apart(a.next, *read);
  for (const Tensor* read : {&a.self, &a.source}) call.require_apart(a.next_position, *read);
  call.require(a.self.dtype == a.next.dtype && a.source.dtype == a.next.dtype && a.out.dtype == a.next.dtype,
               Error::unsupported);
  call.require(a.position.dtype == DType::i32 && a.next_position.dtype == DType::i32, Error::bad_value);
  call.require(a.self.rank == 2 && a.source.rank == 2 && a.out.rank == 2 && same_sizes(a.self, a.next) &&
                   a.position.elements() == 1 && a.next_position.elements() == 1,
               Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  const auto require_entries = [&](const Tensor& tensor) {
    call.require(tensor.is_contiguous() && tensor.bytes() != 0 && tensor.sizes[1] == a.self.sizes[1], Error::bad_shape);
  };
  require_entries(a.self);
  require_entries(a.source);
  require_entries(a.out);
  require_entries(a.next);
  if (call.error() != Error::ok) return call.error();
  const auto entries = static_cast<std::uint32_t>(a.self.sizes[0]);
  const auto taps = static_cast<std::uint32_t>(a.out.sizes[0]);
  // A step is less than the number of entries, so an index needs no remainder.
  call.require(a.step >= 1 && a.source.sizes[0] == 1 && taps >= 2 &&
                   std::uint64_t{static_cast<std::uint32_t>(a.step)} * (taps - 1) + 1 == entries,
               Error::bad_value);
  auto* const plan = call.error() == Error::ok ? call.make_plan<UpdateRingPlan>() : nullptr;
  if (plan == nullptr) return call.error();
  *plan = {.self = a.self.as<const std::int8_t>(),
           .position = a.position.as<const std::int32_t>(),
           .source = a.source.as<const std::int8_t>(),
           .output = a.out.as<std::int8_t>(),
           .next = a.next.as<std::int8_t>(),
           .next_position = a.next_position.as<std::int32_t>(),
           .unit = a.self.bytes() / entries,
           .entries = entries,
           .taps = taps,
           .step = static_cast<std::uint32_t>(a.step)};
  return Error::ok;
}

Error load_update_ring(Call& call) {
  UpdateRing<TargetWorld> args;
  return call.read_signature(args) ? plan_update_ring(call, args) : call.error();
}
Error load_update_at(Call& call) { return load_planned<UpdateAt, UpdateAtPlan, plan_update_at>(call); }
Error load_update_part(Call& call) { return load_planned<UpdatePart, UpdatePlan, plan_update_part>(call); }
Error load_update_shift(Call& call) { return load_planned<UpdateShift, UpdatePlan, plan_update_shift>(call); }

}  // namespace cormorant::ops
