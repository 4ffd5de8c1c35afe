// SPDX-License-Identifier: Apache-2.0
//
// From an operator that moves elements to the nest of loops that its kernels run (kernels/move_nest.h). The caller says
// by how many bytes the input's address moves with each logical dimension of the output; here dimensions that stay
// together become one, those of size 1 vanish, and an element of several bytes is one more dimension. Works for any
// rank and any memory order of either tensor. Inline functions, so that a program links them once for all operators.
#pragma once

#include "base/checked_size.h"
#include "kernels/move_nest.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

// Bytes between neighbours along each logical dimension.
struct MoveSteps {
  std::int32_t bytes[kMaxRank] = {};
};

// The tensor has at most 2^31 - 1 bytes, as the loader has checked.
inline MoveSteps steps_of(const Tensor& tensor) {
  MoveSteps steps;
  auto step = static_cast<std::int32_t>(size_of(tensor.dtype));
  for (std::size_t i = tensor.rank; i-- > 0;) {
    const std::uint8_t dim = tensor.dim_order[i];
    steps.bytes[dim] = step;
    step *= tensor.sizes[dim];
  }
  return steps;
}

// Resolves Python's negative dimensions; -1 if there is no such dimension.
inline std::int32_t wrap_dim(std::int32_t dim, std::size_t rank) {
  const auto limit = static_cast<std::int32_t>(rank);
  if (dim < -limit || dim >= limit) return -1;
  return dim < 0 ? dim + limit : dim;
}

// Whether the size times the repeats is the output's. Repeating nothing gives nothing, which loops need not know.
inline bool is_repeated(std::int32_t size, std::int32_t& repeats, std::int32_t out_size) {
  const CheckedSize product = CheckedSize(static_cast<std::uint32_t>(size)) * static_cast<std::uint32_t>(repeats);
  if (repeats < 1 || !(product == CheckedSize(static_cast<std::uint32_t>(out_size)))) return false;
  if (size == 0) repeats = 1;
  return true;
}

// Whether the tensor's bytes are arranged as in the other's order; dimensions of size 1 may be anywhere.
inline bool lies_like(const Tensor& tensor, const Tensor& other) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < tensor.rank; ++i) {
    const std::uint8_t dim = tensor.dim_order[i];
    if (tensor.sizes[dim] == 1) continue;
    while (next < other.rank && other.dim_order[next] != dim) {
      if (tensor.sizes[other.dim_order[next]] != 1) return false;
      ++next;
    }
    ++next;
  }
  return true;
}

// Loops over the output's memory, outermost first, in bytes.
struct MoveNest {
  MoveLoop loops[kMaxMoveLoops];
  std::int32_t count = 0;
  bool too_deep = false;

  // Appends an inner loop, or widens the last one if the two walk through the input like one.
  void add(std::int32_t size, std::int32_t step_in) {
    if (size == 1) return;
    if (count > 0 && loops[count - 1].step_in == size * step_in) {
      loops[count - 1].count *= size;
      loops[count - 1].step_in = step_in;
      return;
    }
    too_deep = too_deep || count == kMaxMoveLoops;
    if (!too_deep) loops[count++] = {size, step_in, 0};
  }

  MoveLoop take(std::int32_t index) {
    const MoveLoop taken = loops[index];
    --count;
    for (std::int32_t i = index; i < count; ++i) loops[i] = loops[i + 1];
    return taken;
  }
};

// Makes the plan of loops over the output's memory, to which those over an element's bytes are added here. `first` is
// the byte of the input that the output's first element comes from. The caller has proved that the loops stay inside
// the input.
[[gnu::noinline]] inline Error plan_nest(Call& call, const Tensor& input, const Tensor& out, MoveNest& nest,
                                         std::int32_t first) {
  constexpr MoveLoop kOnce = {1, 1, 1};
  MoveLoop rows = kOnce;
  MoveLoop columns = kOnce;
  nest.add(static_cast<std::int32_t>(size_of(out.dtype)), 1);
  call.require(!nest.too_deep, Error::unsupported);
  if (call.error() != Error::ok) return call.error();
  std::int32_t step = 1;
  for (std::int32_t i = nest.count; i-- > 0;) {
    nest.loops[i].step_out = step;
    step *= nest.loops[i].count;
  }
  if (nest.count > 0) columns = nest.take(nest.count - 1);
  // Rows: if columns are not contiguous in the input, the loop that is; else the longest, among equals the inner one.
  if (nest.count > 0) {
    std::int32_t index = nest.count - 1;
    for (std::int32_t i = nest.count; i-- > 0;) {
      if (columns.step_in != 1 && nest.loops[i].step_in == 1) {
        index = i;
        break;
      }
      if (nest.loops[i].count > nest.loops[index].count) index = i;
    }
    rows = nest.take(index);
  }
  if (out.elements() == 0) {
    rows.count = 0;
    nest.count = 0;
  }
  auto* plan = call.allocate_with<MovePlan, MoveLoop>(static_cast<std::uint32_t>(nest.count));
  if (plan == nullptr) return call.error();
  *plan = {.input = input.as<const std::int8_t>() + first,
           .output = out.as<std::int8_t>(),
           .tile = {.rows = rows.count,
                    .columns = columns.count,
                    .row_step_in = rows.step_in,
                    .row_step_out = rows.step_out,
                    .column_step_in = columns.step_in},
           .loop_count = nest.count};
  auto* loops = reinterpret_cast<MoveLoop*>(plan + 1);
  for (std::int32_t i = 0; i < nest.count; ++i) loops[i] = nest.loops[i];
  call.set_plan(plan);
  return Error::ok;
}

// The usual case: one loop per dimension, with the input's step for each logical dimension of `out`.
[[gnu::noinline]] inline Error plan_move(Call& call, const Tensor& input, const Tensor& out, const MoveSteps& steps,
                                         std::int32_t first) {
  MoveNest nest;
  for (std::size_t i = 0; i < out.rank; ++i) {
    const std::uint8_t dim = out.dim_order[i];
    nest.add(out.sizes[dim], steps.bytes[dim]);
  }
  return plan_nest(call, input, out, nest, first);
}

}  // namespace cormorant::ops
