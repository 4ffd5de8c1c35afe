// SPDX-License-Identifier: Apache-2.0
#include "ops/softmax/kernel.h"

namespace cormorant::ops::softmax {
namespace {

// Equal sizes, and equal orders in memory except for dimensions of one index, whose place does not matter.
bool same_bytes(const Tensor& input, const Tensor& out) {
  if (input.rank == 0 || input.rank != out.rank) return false;
  std::size_t b = 0;
  for (std::size_t a = 0; a < input.rank; ++a) {
    if (input.sizes[a] != out.sizes[a]) return false;
  }
  for (std::size_t a = 0; a < input.rank; ++a) {
    if (input.sizes[input.dim_order[a]] == 1) continue;
    while (out.sizes[out.dim_order[b]] == 1) ++b;
    if (input.dim_order[a] != out.dim_order[b++]) return false;
  }
  return true;
}

// What both forms have in common; dim may be negative.
bool fill(Call& call, const Tensor& input, std::int32_t dim, const Tensor& out, std::int32_t multiplier,
          std::int32_t shift, std::int32_t diff_min, Plan& plan) {
  if (dim < 0) dim += input.rank;
  call.require(input.dtype == DType::i8 && out.dtype == DType::i8, Error::bad_value);
  call.require(same_bytes(input, out) && dim >= 0 && dim < input.rank, Error::bad_shape);
  call.require(multiplier >= 0 && shift >= 0 && shift <= 31 && diff_min <= 0, Error::bad_value);
  if (call.error() != Error::ok) return false;
  const std::int32_t row_size = input.sizes[dim];
  call.require(row_size >= 1 && row_size <= kMaxRow, Error::unsupported);
  if (call.error() != Error::ok) return false;
  std::uint32_t inner = 1;
  for (std::size_t i = input.rank; input.dim_order[--i] != dim;) {
    inner *= static_cast<std::uint32_t>(input.sizes[input.dim_order[i]]);
  }
  std::uint32_t outer = 1;
  for (std::size_t i = 0; input.dim_order[i] != dim; ++i) {
    outer *= static_cast<std::uint32_t>(input.sizes[input.dim_order[i]]);
  }
  plan = {.input = input.as<const std::int8_t>(),
          .out = out.as<std::int8_t>(),
          .outer = inner == 0 ? 0 : outer,
          .inner = inner,
          .row_size = static_cast<std::uint32_t>(row_size),
          .multiplier = multiplier,
          .diff_min = static_cast<std::int16_t>(diff_min < -256 ? -256 : diff_min),
          .shift = static_cast<std::uint8_t>(shift)};
  return true;
}

bool is_within(std::int32_t value, std::int32_t bound) { return value > -bound && value < bound; }

}  // namespace

Error load(Call& call) {
  Softmax<TargetWorld> a;
  if (!call.read_signature(a)) return call.error();
  call.require(a.output_zero_point == kOutputZeroPoint, Error::unsupported);
  Plan rows{};
  if (!fill(call, a.input, a.dim, a.out, a.input_multiplier, a.input_shift, a.diff_min, rows)) return call.error();
  auto* plan = call.make_plan<Plan>();
  if (plan == nullptr) return call.error();
  *plan = rows;
  return call.error();
}

Error load_table(Call& call) {
  TableSoftmax<TargetWorld> a;
  if (!call.read_signature(a)) return call.error();
  call.require(a.exponentials.dtype == DType::i32 && a.exponentials.constant, Error::bad_value);
  call.require(a.exponentials.rank == 1 && a.exponentials.size(0) == kDifferences, Error::bad_shape);
  call.require(a.halvings >= 0 && a.halvings <= kMostHalvings, Error::bad_value);
  Plan rows{};
  if (!fill(call, a.input, a.dim, a.out, 0, 0, 0, rows)) return call.error();
  auto* plan = call.make_plan<TablePlan>();
  if (plan == nullptr || call.error() != Error::ok) return call.error();
  *plan = {.input = rows.input,
           .out = rows.out,
           .exponentials = a.exponentials.as<const std::int32_t>(),
           .outer = rows.outer,
           .inner = rows.inner,
           .row_size = rows.row_size,
           .halvings = static_cast<std::uint32_t>(a.halvings)};
  return Error::ok;
}

Error load_log(Call& call) {
  LogSoftmax<TargetWorld> a;
  if (!call.read_signature(a)) return call.error();
  Plan rows{};
  if (!fill(call, a.input, a.dim, a.out, a.input_multiplier, a.input_shift, a.diff_min, rows)) return call.error();
  call.require(a.factor >= 0 && a.factor < kLogBound / 255 && is_within(a.term, kLogBound), Error::bad_value);
  call.require(a.shift >= 0 && a.shift <= 31 && a.log_multiplier >= 0, Error::bad_value);
  call.require(a.log_shift >= -31 && a.log_shift <= 1, Error::bad_value);
  auto* plan = call.make_plan<LogPlan>();
  if (plan == nullptr || call.error() != Error::ok) return call.error();
  *plan = {.rows = rows,
           .factor = a.factor,
           .term = a.term,
           .log_multiplier = a.log_multiplier,
           .log_shift = static_cast<std::int8_t>(a.log_shift),
           .shift = static_cast<std::uint8_t>(a.shift)};
  return Error::ok;
}

}  // namespace cormorant::ops::softmax
