// SPDX-License-Identifier: Apache-2.0
//
// The table is verified here once. What execute() then moves follows from it alone, and the instructions that it calls
// were verified like any other.
#include "ops/rows/kernel.h"

#include "base/checked_size.h"
#include "base/fixed_point.h"

namespace cormorant::ops {
namespace rows {
namespace {

// The ticks from the first to the last at which the entry is due; more than can be counted if the table is unsound.
std::uint32_t ticks_of(const Entry& e) {
  const std::uint32_t rows = e.all_rows();
  if (e.rows == 0 || e.period == 0 || e.batch == 0 || rows % e.batch != 0 || rows > kMostTicks) return kMostTicks + 1;
  const std::uint64_t last = e.start + std::uint64_t{rows / e.batch - 1} * e.period;
  return last < kMostTicks ? static_cast<std::uint32_t>(last) + 1 : kMostTicks + 1;
}

// Rows of an image are consecutive, and the tensor holds a whole number of them, so copies stay inside.
bool has_rows(const Tensor& tensor, std::uint32_t rows, std::uint32_t row_bytes) {
  return !tensor.constant && tensor.rank == 4 && tensor.is_channels_last() && tensor.size(0) == 1 &&
         tensor.bytes() == CheckedSize(rows) * row_bytes;
}

// Kept out of line: the caller's frame is beneath the one that reads the arguments.
[[gnu::noinline]] void check_entry(Call& call, const Entry& e, const TensorList& tensors) {
  const bool is_call = e.kind == Entry::Kind::call;
  call.require(e.kind <= Entry::Kind::strips && (is_call || e.slab != Entry::kNone), Error::bad_constant);
  call.require(e.kind != Entry::Kind::collect || (e.before < e.batch && e.after < e.batch), Error::bad_constant);
  call.require(e.batch == 1 || (e.kind != Entry::Kind::push && e.kind != Entry::Kind::strips), Error::bad_constant);
  Tensor tensor;
  if (e.slab != Entry::kNone) {
    call.require(e.slab < tensors.count && e.row_bytes != 0 && e.slab_rows >= e.batch, Error::bad_constant);
    if (call.error() != Error::ok || !call.item(tensors, e.slab, tensor)) return;
    call.require(has_rows(tensor, e.slab_rows, e.row_bytes), Error::bad_shape);
  }
  if (!is_call && e.kind != Entry::Kind::strips) {
    call.require(e.whole < tensors.count, Error::bad_constant);
    if (call.error() != Error::ok || !call.item(tensors, e.whole, tensor)) return;
    call.require(has_rows(tensor, e.kind == Entry::Kind::push ? 1 : e.rows, e.row_bytes), Error::bad_shape);
  }
}

// Wherever a strip is, its patches are moved and filled inside their tensors, which are as large as the part says.
[[gnu::noinline]] void check_part(Call& call, const Entry& e, const Part& part, const TensorList& tensors) {
  const bool is_cut = part.kind == Part::Kind::cut;
  call.require(part.kind >= Part::Kind::cut && part.kind <= Part::Kind::paste && part.tensor < tensors.count &&
                   (!is_cut || part.source < tensors.count),
               Error::bad_constant);
  call.require(part.step_x <= Part::kLongestStep && part.step_y <= Part::kLongestStep && part.image_columns != 0 &&
                   part.rows != 0 && part.columns != 0 && part.pixel_bytes != 0,
               Error::bad_constant);
  Tensor tensor;
  if (call.error() != Error::ok || !call.item(tensors, part.tensor, tensor)) return;
  call.require(!tensor.constant && tensor.bytes() == CheckedSize(part.rows) * part.columns * part.pixel_bytes,
               Error::bad_shape);
  const std::uint64_t row_bytes = std::uint64_t{part.image_columns} * part.pixel_bytes;
  if (part.kind == Part::Kind::paste) call.require(part.rows == 1 && row_bytes == e.row_bytes, Error::bad_shape);
  if (!is_cut || call.error() != Error::ok || !call.item(tensors, part.source, tensor)) return;
  call.require(tensor.bytes() == CheckedSize(part.rows) * part.image_columns * part.pixel_bytes, Error::bad_shape);
}

// A plan; that of a Fed if `arrival`, the entry that rows are pushed to, is requested: then there is exactly one, else
// none.
Plan* load_table(Call& call, const Entry** arrival, bool has_strips) {
  Run<TargetWorld> args;
  if (!call.read_signature(args)) return nullptr;
  const auto& [table, first, tensors] = args;
  call.require(tensors.count <= Entry::kNone, Error::bad_value);
  const auto entries = call.elements<Entry>(table);
  const auto count = static_cast<std::uint32_t>(entries.size());
  call.require(entries.size_bytes() == table.bytes() && count != 0 && count < Entry::kNone, Error::bad_constant);
  Plan* plan = nullptr;
  if (arrival == nullptr) {
    plan = call.allocate_with<Plan, std::byte*>(tensors.count);
    call.set_plan(plan);
  } else if (auto* const fed = call.allocate_with<Fed, std::byte*>(tensors.count)) {
    plan = &fed->plan;
    call.set_plan(fed);
  }
  if (plan == nullptr) return nullptr;
  plan->entries = entries.data();
  plan->count = static_cast<std::uint16_t>(count);
  std::uint32_t ticks = 0;
  std::uint32_t calls = 0;
  std::uint32_t arrivals = 0;
  for (std::uint32_t i = 0; i < count && call.error() == Error::ok; ++i) {
    const Entry& entry = entries[i];
    const std::uint32_t own = ticks_of(entry);
    if (own > ticks) ticks = own;
    calls += entry.kind == Entry::Kind::call ? 1 : 0;
    if (entry.kind == Entry::Kind::push) {
      ++arrivals;
      if (arrival != nullptr) *arrival = &entry;
    }
    call.require(own <= kMostTicks, Error::bad_constant);
    check_entry(call, entry, tensors);
    if (entry.kind != Entry::Kind::strips) continue;
    call.require(has_strips && entry.parts() < count - i, Error::bad_constant);
    for (const std::uint32_t last = i + entry.parts(); i != last && call.error() == Error::ok;) {
      const auto& part = reinterpret_cast<const Part&>(entries[++i]);
      calls += part.kind == Part::Kind::call ? 1 : 0;
      check_part(call, entry, part, tensors);
    }
  }
  call.require(arrivals == (arrival != nullptr ? 1 : 0), Error::bad_constant);
  plan->ticks = static_cast<std::uint16_t>(ticks);
  for (std::uint32_t i = 0; i < tensors.count; ++i) {
    Tensor tensor;
    if (!call.item(tensors, i, tensor)) return nullptr;
    plan->tensors()[i] = tensor.data;
  }
  plan->steps = call.stages(first, calls);
  return call.error() == Error::ok ? plan : nullptr;
}

}  // namespace

void call_stage(void (*execute)(const void*), const void* plan) { execute(plan); }

}  // namespace rows

Error load_rows(Call& call) {
  rows::load_table(call, nullptr, false);
  return call.error();
}

Error load_rows_strips(Call& call) {
  rows::load_table(call, nullptr, true);
  return call.error();
}

namespace {

Error load_fed(Call& call, void (*advance)(Feed&), bool has_strips) {
  using rows::Fed;
  const rows::Entry* arrival = nullptr;
  rows::Plan* const plan = rows::load_table(call, &arrival, has_strips);
  if (plan == nullptr) return call.error();
  auto& fed = *reinterpret_cast<Fed*>(reinterpret_cast<std::byte*>(plan) - offsetof(Fed, plan));
  std::byte* const own = plan->tensors()[arrival->whole];
  // The caller that pushes rows provides as many bytes as the input has.
  call.require(call.is_only_input(own, arrival->row_bytes), Error::bad_structure);
  fed.feed = {advance, own, own, arrival->row_bytes, 0, arrival->rows};
  fed.arrival = arrival;
  return call.error();
}

}  // namespace

Error load_rows_fed(Call& call, void (*advance)(Feed&)) { return load_fed(call, advance, false); }
Error load_rows_strips_fed(Call& call, void (*advance)(Feed&)) { return load_fed(call, advance, true); }

Error load_rows_sum(Call& call) {
  rows::Sum<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto& [input, out] = args;
  call.require(input.dtype == DType::i8 && out.dtype == DType::i32, Error::bad_value);
  call.require(input.rank == 4 && input.is_channels_last() && input.size(0) == 1, Error::unsupported);
  if (call.error() != Error::ok) return call.error();
  const std::uint64_t pixels =
      wide_product(static_cast<std::uint32_t>(input.size(2)), static_cast<std::uint32_t>(input.size(3)));
  call.require(pixels <= 0xffff && input.size(1) <= 0xffff && out.elements() == input.size(1), Error::bad_shape);
  auto* const plan = call.make_plan<rows::SumPlan>();
  if (plan == nullptr || call.error() != Error::ok) return call.error();
  *plan = {input.as<const std::int8_t>(), out.as<std::int32_t>(), static_cast<std::uint16_t>(pixels),
           static_cast<std::uint16_t>(input.size(1))};
  return Error::ok;
}

Error load_rows_mean(Call& call) {
  rows::Mean<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto is_byte = [](std::int32_t value) { return value >= -128 && value <= 127; };
  call.require(args.sums.dtype == DType::i32 && args.out.dtype == DType::i8, Error::bad_value);
  call.require(args.sums.elements() == args.out.elements(), Error::bad_shape);
  call.require(args.elements >= 1 && args.elements <= 0xffff && args.shift >= 0 && args.shift <= 31 &&
                   args.left_shift >= 0 && args.left_shift <= 31,
               Error::bad_value);
  call.require(is_byte(args.input_zero_point) && is_byte(args.output_zero_point) && is_byte(args.output_min) &&
                   is_byte(args.output_max) && args.output_min <= args.output_max,
               Error::bad_value);
  auto* const plan = call.make_plan<rows::MeanPlan>();
  if (plan == nullptr || call.error() != Error::ok) return call.error();
  *plan = {args.sums.as<const std::int32_t>(),
           args.out.as<std::int8_t>(),
           static_cast<std::uint32_t>(args.out.elements()),
           -args.input_zero_point * args.elements,
           args.multiplier,
           static_cast<std::uint8_t>(args.shift),
           static_cast<std::uint8_t>(args.left_shift),
           static_cast<std::int8_t>(args.output_zero_point),
           static_cast<std::int8_t>(args.output_min),
           static_cast<std::int8_t>(args.output_max)};
  return Error::ok;
}

void execute_rows_mean(const void* raw) {
  const auto& p = *static_cast<const rows::MeanPlan*>(raw);
  for (std::uint32_t c = 0; c < p.channels; ++c) {
    const auto distance =
        static_cast<std::int32_t>(static_cast<std::uint32_t>(p.sums[c]) + static_cast<std::uint32_t>(p.offset));
    const std::int32_t product = doubling_high_multiply(shift_left(distance, p.left), p.multiplier);
    const std::int32_t level = rounding_shift_right(product, p.shift);
    // Bounds before the zero point: the sum cannot overflow.
    p.out[c] = static_cast<std::int8_t>(clamp(level, p.low - p.zero_point, p.high - p.zero_point) + p.zero_point);
  }
}

}  // namespace cormorant::ops
