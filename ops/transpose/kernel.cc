// SPDX-License-Identifier: Apache-2.0
#include "ops/transpose/kernel.h"

namespace cormorant::ops {
namespace {

// Loops over the output's memory, outermost first, in bytes.
struct Nest {
  TransposeLoop loops[kMaxRank + 1];
  std::int32_t count = 0;

  // Appends an inner loop, or widens the last one if the two walk through the input like one.
  void add(std::int32_t size, std::int32_t step_in) {
    if (size == 1) return;
    if (count > 0 && loops[count - 1].step_in == size * step_in) {
      loops[count - 1].count *= size;
      loops[count - 1].step_in = step_in;
      return;
    }
    loops[count++] = {size, step_in, 0};
  }

  TransposeLoop take(std::int32_t index) {
    const TransposeLoop taken = loops[index];
    --count;
    for (std::int32_t i = index; i < count; ++i) loops[i] = loops[i + 1];
    return taken;
  }
};

bool is_permutation(const IntList& perm, std::size_t rank) {
  if (perm.count != rank || rank > kMaxRank) return false;
  std::uint32_t seen = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    if (perm[i] < 0 || static_cast<std::size_t>(perm[i]) >= rank) return false;
    seen |= std::uint32_t{1} << perm[i];
  }
  return seen == (std::uint32_t{1} << rank) - 1;
}

Nest nest_of(const Tensor& input, const IntList& perm, const Tensor& out) {
  const auto element = static_cast<std::int32_t>(size_of(input.dtype));
  std::int32_t steps[kMaxRank] = {};
  std::int32_t step = element;
  for (std::size_t i = input.rank; i-- > 0;) {
    steps[input.dim_order[i]] = step;
    step *= input.sizes[input.dim_order[i]];
  }
  Nest nest;
  for (std::size_t i = 0; i < out.rank; ++i) {
    const std::uint8_t dim = out.dim_order[i];
    nest.add(out.sizes[dim], steps[perm[dim]]);
  }
  nest.add(element, 1);
  step = 1;
  for (std::int32_t i = nest.count; i-- > 0;) {
    nest.loops[i].step_out = step;
    step *= nest.loops[i].count;
  }
  return nest;
}

}  // namespace

Error load_transpose(Call& call) {
  Transpose<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto& [input, perm, out] = args;
  call.require(input.dtype == out.dtype && size_of(input.dtype) != 0, Error::bad_value);
  call.require(input.rank == out.rank && is_permutation(perm, input.rank), Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  for (std::size_t i = 0; i < out.rank; ++i) {
    call.require(out.sizes[i] == input.sizes[perm[i]], Error::bad_shape);
  }
  // A byte count beyond 31 bits would overflow the steps; nothing that large is ever planned.
  call.require(input.bytes() <= 0x7FFFFFFF, Error::bad_shape);
  call.require(input.elements() > 0, Error::unsupported);
  if (call.error() != Error::ok) return call.error();

  Nest nest = nest_of(input, perm, out);
  constexpr TransposeLoop kOnce = {1, 1, 1};
  const TransposeLoop columns = nest.count > 0 ? nest.take(nest.count - 1) : kOnce;
  // Rows: where columns are contiguous in the input, the next loop out; else the loop that is.
  TransposeLoop rows = kOnce;
  if (nest.count > 0) {
    std::int32_t index = nest.count - 1;
    if (columns.step_in != 1) {
      while (index > 0 && nest.loops[index].step_in != 1) --index;
    }
    rows = nest.take(index);
  }
  const std::size_t loop_bytes = static_cast<std::size_t>(nest.count) * sizeof(TransposeLoop);
  auto* plan = static_cast<TransposePlan*>(call.allocate(sizeof(TransposePlan) + loop_bytes, alignof(TransposePlan)));
  if (plan == nullptr) return call.error();
  *plan = {.input = input.as<const std::int8_t>(),
           .output = out.as<std::int8_t>(),
           .tile = {.rows = rows.count,
                    .columns = columns.count,
                    .row_step_in = rows.step_in,
                    .row_step_out = rows.step_out,
                    .column_step_in = columns.step_in},
           .loop_count = nest.count};
  auto* loops = reinterpret_cast<TransposeLoop*>(plan + 1);
  for (std::int32_t i = 0; i < nest.count; ++i) loops[i] = nest.loops[i];
  call.set_plan(plan);
  return Error::ok;
}

}  // namespace cormorant::ops
