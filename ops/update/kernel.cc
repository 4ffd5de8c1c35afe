// SPDX-License-Identifier: Apache-2.0
#include "ops/update/kernel.h"

#include "ops/move_plan.h"
#include "ops/planned.h"

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

Error load_update_at(Call& call) { return load_planned<UpdateAt, UpdateAtPlan, plan_update_at>(call); }
Error load_update_part(Call& call) { return load_planned<UpdatePart, UpdatePlan, plan_update_part>(call); }
Error load_update_shift(Call& call) { return load_planned<UpdateShift, UpdatePlan, plan_update_shift>(call); }

}  // namespace cormorant::ops
