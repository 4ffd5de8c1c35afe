// SPDX-License-Identifier: Apache-2.0
#include "ops/softmax/kernel.h"

namespace cormorant::ops::softmax {
namespace {

// Equal sizes and memory order, and the dimension is the innermost of those that have more than one index.
bool shapes_fit(const Tensor& input, std::int32_t dim, const Tensor& out) {
  if (input.rank == 0 || input.rank != out.rank || dim < 0 || dim >= input.rank) return false;
  for (std::size_t i = 0; i < input.rank; ++i) {
    if (input.sizes[i] != out.sizes[i] || input.dim_order[i] != out.dim_order[i]) return false;
  }
  std::size_t innermost = input.rank - 1U;
  while (innermost > 0 && input.dim_order[innermost] != dim && input.sizes[input.dim_order[innermost]] == 1) {
    --innermost;
  }
  return input.dim_order[innermost] == dim || input.sizes[dim] == 1;
}

}  // namespace

Error load(Call& call) {
  Softmax<TargetWorld> a;
  if (!call.read_signature(a)) return call.error();
  const std::int32_t dim = a.dim < 0 ? a.dim + a.input.rank : a.dim;
  call.require(a.input.dtype == DType::i8 && a.out.dtype == DType::i8, Error::bad_value);
  call.require(shapes_fit(a.input, dim, a.out), Error::bad_shape);
  call.require(a.output_zero_point == kOutputZeroPoint, Error::unsupported);
  call.require(a.input_multiplier >= 0 && a.input_shift >= 0 && a.input_shift <= 31, Error::bad_value);
  call.require(a.diff_min <= 0, Error::bad_value);
  if (call.error() != Error::ok) return call.error();
  const std::int32_t row_size = a.input.sizes[dim];
  call.require(row_size >= 1 && row_size <= kMaxRow, Error::unsupported);

  auto* plan = static_cast<Plan*>(call.allocate(sizeof(Plan), alignof(Plan)));
  if (call.error() != Error::ok) return call.error();
  std::uint32_t rows = 1;
  for (std::size_t i = 0; i < a.input.rank; ++i) {
    if (i != static_cast<std::size_t>(dim)) rows *= static_cast<std::uint32_t>(a.input.sizes[i]);
  }
  *plan = {.input = a.input.as<const std::int8_t>(),
           .out = a.out.as<std::int8_t>(),
           .rows = rows,
           .row_size = static_cast<std::uint32_t>(row_size),
           .multiplier = a.input_multiplier,
           .diff_min = static_cast<std::int16_t>(a.diff_min < -256 ? -256 : a.diff_min),
           .shift = static_cast<std::uint8_t>(a.input_shift)};
  call.set_plan(plan);
  return Error::ok;
}

}  // namespace cormorant::ops::softmax
