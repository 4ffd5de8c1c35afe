// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/kernel.h"

namespace cormorant::ops {
namespace {

// Dimensions that follow each other in memory and are all reduced, or all kept.
struct Group {
  std::int32_t size = 1;
  std::int32_t step = 1;
  bool reduced = false;
};

struct Groups {
  Group items[kMaxRank];
  std::size_t count = 0;
};

// A bit for each dimension that is reduced; false if the tensor does not have one of the dimensions.
bool read_dims(const IntList& dims, std::size_t rank, std::uint32_t& mask) {
  if (dims.count > kMaxRank) return false;
  for (std::size_t i = 0; i < dims.count; ++i) {
    if (dims[i] < 0 || dims[i] >= static_cast<std::int32_t>(rank)) return false;
    mask |= 1U << dims[i];
  }
  return true;
}

// Whether the sizes are those of the reduction, and kept dimensions are in the same order in memory.
bool is_reduced(const Tensor& input, const Tensor& out, std::uint32_t mask) {
  if (input.rank != out.rank) return false;
  for (std::size_t i = 0; i < input.rank; ++i) {
    if (out.sizes[i] != ((mask >> i & 1) != 0 ? 1 : input.sizes[i])) return false;
  }
  std::size_t j = 0;
  for (std::size_t i = 0; i < input.rank; ++i) {
    if (out.sizes[input.dim_order[i]] == 1) continue;
    while (out.sizes[out.dim_order[j]] == 1) ++j;
    if (input.dim_order[i] != out.dim_order[j]) return false;
    ++j;
  }
  return true;
}

// Innermost first. Of one dimension, only the first entries may take part.
Groups groups_of(const Tensor& input, std::uint32_t mask, Part part) {
  Groups groups;
  std::int32_t step = 1;
  for (std::size_t i = input.rank; i-- > 0;) {
    const std::size_t dim = input.dim_order[i];
    const std::int32_t size = static_cast<std::int32_t>(dim) == part.axis ? part.entries : input.sizes[dim];
    const bool reduced = (mask >> dim & 1) != 0;
    Group* const before = groups.count == 0 ? nullptr : &groups.items[groups.count - 1];
    if (size != 1 && before != nullptr && before->reduced == reduced && before->size * before->step == step) {
      before->size *= size;
    } else if (size != 1) {
      groups.items[groups.count++] = {size, step, reduced};
    }
    step *= input.sizes[dim];
  }
  return groups;
}

// Takes the next group if it is of that kind.
constexpr Group kNone;
const Group& take(const Groups& groups, std::size_t& next, bool reduced) {
  return next < groups.count && groups.items[next].reduced == reduced ? groups.items[next++] : kNone;
}

bool is_int8(std::int32_t value) { return value >= -128 && value <= 127; }

}  // namespace

void plan_windows(Call& call, const Tensor& input, const IntList& dims, const Tensor& out, DType dtype,
                  ReducePlan& plan, Part part) {
  std::uint32_t mask = 0;
  call.require(input.dtype == dtype && out.dtype == dtype, Error::bad_value);
  call.require(read_dims(dims, input.rank, mask), Error::bad_value);
  call.require(is_reduced(input, out, mask), Error::bad_shape);
  call.require(input.elements() > 0, Error::bad_shape);
  if (call.error() != Error::ok) return;
  const Groups groups = groups_of(input, mask, part);
  std::size_t next = 0;
  const Group& channels = take(groups, next, false);
  const Group& columns = take(groups, next, true);
  const Group& inner = take(groups, next, false);
  const Group& rows = take(groups, next, true);
  const Group& outer = take(groups, next, false);
  call.require(next == groups.count, Error::unsupported);
  // Filled where it is: the deepest loads have no stack to spare.
  Window& first = plan.first;
  first.input = input.as<const std::int8_t>();
  first.output = out.as<std::int8_t>();
  first.rows = static_cast<std::uint32_t>(rows.size);
  first.columns = static_cast<std::uint32_t>(columns.size);
  first.row_step = rows.step;
  first.column_step = columns.step;
  first.channels = static_cast<std::uint32_t>(channels.size);
  first.more = 0;
  first.next = 0;
  plan.outer = static_cast<std::uint32_t>(outer.size);
  plan.inner = static_cast<std::uint32_t>(inner.size);
  plan.outer_step = outer.step;
  plan.inner_step = inner.step;
}

// For a mean or a moving mean with so many taps in all; at most kLargestMeanWindow, so nothing here wraps.
template <class Args>
static MeanScale scale_of(Call& call, const Args& args, std::uint32_t taps) {
  call.require(is_int8(args.input_zero_point) && is_int8(args.output_zero_point), Error::bad_value);
  call.require(is_int8(args.output_min) && args.output_min <= args.output_max && is_int8(args.output_max),
               Error::bad_value);
  call.require(
      fits_mean(taps, args.left_shift) && args.right_shift >= 1 && args.right_shift < 32 && args.multiplier >= 0,
      Error::bad_value);
  if (call.error() != Error::ok) return {};
  return {.offset = -static_cast<std::int32_t>(taps) * args.input_zero_point,
          .multiplier = args.multiplier,
          .left = args.left_shift,
          .right = args.right_shift,
          .low = args.output_min - args.output_zero_point,
          .high = args.output_max - args.output_zero_point,
          .zero_point = args.output_zero_point};
}

// Kept out of line: the caller's frame is beneath everything that reads the arguments.
[[gnu::noinline]] static Error plan_mean(Call& call, Mean<TargetWorld>& args) {
  auto* const plan = call.make_plan<MeanPlan>();  // filled where it is: the deepest loads have no stack to spare
  if (plan == nullptr) return call.error();
  plan_windows(call, args.input, args.dim, args.out, DType::i8, plan->windows);
  if (call.error() != Error::ok) return call.error();
  // Tensors have fewer than 2^31 elements, so the product does too.
  const std::uint32_t taps = plan->windows.first.rows * plan->windows.first.columns;
  call.require(taps <= kLargestMeanWindow, Error::unsupported);
  if (call.error() != Error::ok) return call.error();
  plan->scale = scale_of(call, args, taps);
  return call.error();
}

// What is kept is written to its own memory, or elsewhere.
static void require_same_or_apart(Call& call, const Tensor& next, const Tensor& kept) {
  call.require(next.dtype == kept.dtype && next.lies_like(kept), Error::bad_shape);
  if (next.data != kept.data) call.require_apart(next, kept);
}

[[gnu::noinline]] static bool memory_fits(Call& call, const MovingMean<TargetWorld>& a) {
  require_same_or_apart(call, a.next_past, a.past);
  require_same_or_apart(call, a.next_sums, a.sums);
  for (const OutTensor* result : {&a.out, &a.next_past, &a.next_sums}) call.require_apart(*result, a.input);
  for (const Tensor* kept : {&a.past, &a.sums}) call.require_apart(a.out, *kept);
  call.require_apart(a.next_past, a.sums);
  call.require_apart(a.next_sums, a.past);
  return call.error() == Error::ok;
}

std::int32_t step_along(const Tensor& tensor, std::int32_t axis) {
  std::int32_t step = 1;
  for (std::size_t i = tensor.rank; tensor.dim_order[--i] != axis;) step *= tensor.sizes[tensor.dim_order[i]];
  return step;
}

std::uint32_t moving_parts(Call& call, const MovingMean<TargetWorld>& args, DType dtype, ReducePlan& windows) {
  const Part part{.axis = args.axis, .entries = args.entries};
  call.require(part.axis >= 0 && part.axis < args.input.rank && part.entries >= 1, Error::bad_value);
  if (call.error() != Error::ok) return 0;
  call.require(args.out.rank == args.input.rank && args.out.sizes[part.axis] == 1 &&
                   args.input.sizes[part.axis] % part.entries == 0,
               Error::bad_shape);
  if (call.error() != Error::ok) return 0;
  plan_windows(call, args.input, args.dim, args.out, dtype, windows, part);
  if (call.error() != Error::ok || !memory_fits(call, args)) return 0;
  const auto results = static_cast<std::int32_t>(args.out.elements());
  call.require(args.past.rank == 2 && args.sums.rank == 1, Error::bad_shape);
  if (call.error() != Error::ok) return 0;
  call.require(args.past.sizes[0] >= 1 && args.past.sizes[1] == results && args.past.is_contiguous() &&
                   args.sums.sizes[0] - 1 == results,
               Error::bad_shape);
  call.require(
      args.past.dtype == part_dtype(windows.first.rows * windows.first.columns, dtype) && args.sums.dtype == DType::i32,
      Error::bad_value);
  return call.error() == Error::ok ? static_cast<std::uint32_t>(args.past.sizes[0]) : 0;
}

[[gnu::noinline]] static Error plan_moving_mean(Call& call, MovingMean<TargetWorld>& args) {
  auto* const plan = call.make_plan<MovingMeanPlan>();
  if (plan == nullptr) return call.error();
  const std::uint32_t parts = moving_parts(call, args, DType::i8, plan->windows);
  if (parts == 0) return call.error();
  const std::uint64_t all = std::uint64_t{plan->windows.first.rows} * plan->windows.first.columns * parts;
  call.require(all <= kLargestMeanWindow, Error::unsupported);
  if (call.error() != Error::ok) return call.error();
  plan->scale = scale_of(call, args, static_cast<std::uint32_t>(all));
  if (call.error() != Error::ok) return call.error();
  plan->scale.offset = 0;  // sums have it already
  plan->fresh = static_cast<std::uint32_t>(args.input.sizes[args.axis] / args.entries);
  plan->step = args.entries * step_along(args.input, args.axis);
  plan->past = args.past.data;
  plan->sums = args.sums.as<const std::int32_t>();
  plan->next_past = args.next_past.data;
  plan->next_sums = args.next_sums.as<std::int32_t>();
  plan->largest = static_cast<std::int32_t>(255 * all);
  plan->parts = parts;
  plan->dtype = args.past.dtype;
  return Error::ok;
}

Error load_moving_mean(Call& call) {
  MovingMean<TargetWorld> args;
  return call.read_signature(args) ? plan_moving_mean(call, args) : call.error();
}

Error load_mean(Call& call) {
  Mean<TargetWorld> args;
  return call.read_signature(args) ? plan_mean(call, args) : call.error();
}

Error plan_amax(Call& call, DType dtype) {
  Amax<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  auto* const plan = call.make_plan<ReducePlan>();
  if (plan == nullptr) return call.error();
  plan_windows(call, args.input, args.dim, args.out, dtype, *plan);
  return call.error();
}

Error load_amax(Call& call) { return plan_amax(call, DType::i8); }

}  // namespace cormorant::ops
