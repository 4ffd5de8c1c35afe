// SPDX-License-Identifier: Apache-2.0
//
// The table is verified here once. What execute() then moves follows from it alone, and the instructions that it calls
// were verified like any other.
#include "ops/rows/kernel.h"

#include "base/checked_size.h"

namespace cormorant::ops::rows {
namespace {

// The ticks from the first to the last at which the entry is due; beyond what is counted where the table is unsound.
std::uint32_t ticks_of(const Entry& e) {
  const std::uint32_t times = std::uint32_t{e.before} + e.rows + e.after;
  if (e.rows == 0 || e.period == 0 || times > kMostTicks) return kMostTicks + 1;
  const std::uint64_t last = e.start + std::uint64_t{times - 1} * e.period;
  return last < kMostTicks ? static_cast<std::uint32_t>(last) + 1 : kMostTicks + 1;
}

// Rows of an image lie one behind the other. Written as a whole number of them: what is copied stays inside.
bool has_rows(const Tensor& tensor, std::uint32_t rows, std::uint32_t row_bytes) {
  return !tensor.constant && tensor.rank == 4 && tensor.is_channels_last() && tensor.size(0) == 1 &&
         tensor.bytes() == CheckedSize(rows) * row_bytes;
}

// Not part of its caller, whose frame lies below that of what reads the arguments.
[[gnu::noinline]] void check_entry(Call& call, const Entry& e, const TensorList& tensors) {
  const bool is_call = e.kind == Entry::Kind::call;
  call.require(e.kind <= Entry::Kind::collect && (is_call || e.slab != Entry::kNone), Error::bad_constant);
  call.require(e.kind != Entry::Kind::collect || (e.before == 0 && e.after == 0), Error::bad_constant);
  Tensor tensor;
  if (e.slab != Entry::kNone) {
    call.require(e.slab < tensors.count && e.row_bytes != 0 && e.slab_bytes % e.row_bytes == 0, Error::bad_constant);
    if (call.error() != Error::ok || !call.item(tensors, e.slab, tensor)) return;
    call.require(e.slab_bytes != 0 && has_rows(tensor, e.slab_bytes / e.row_bytes, e.row_bytes), Error::bad_shape);
  }
  if (!is_call) {
    call.require(e.whole < tensors.count, Error::bad_constant);
    if (call.error() != Error::ok || !call.item(tensors, e.whole, tensor)) return;
    call.require(has_rows(tensor, e.rows, e.row_bytes), Error::bad_shape);
  }
}

}  // namespace

Error load_run(Call& call) {
  Run<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto& [table, first, tensors] = args;
  const std::uint32_t count = table.bytes() / sizeof(Entry);
  call.require(table.constant && table.bytes() % sizeof(Entry) == 0 && count != 0 && count < Entry::kNone,
               Error::bad_constant);
  call.require(tensors.count <= Entry::kNone, Error::bad_value);
  call.require_aligned(table, alignof(Entry));
  if (call.error() != Error::ok) return call.error();
  auto* const plan =
      static_cast<Plan*>(call.allocate(sizeof(Plan) + tensors.count * sizeof(std::byte*), alignof(Plan)));
  if (plan == nullptr) return call.error();
  plan->entries = table.as<const Entry>();
  plan->count = static_cast<std::uint16_t>(count);
  std::uint32_t ticks = 0;
  std::uint32_t calls = 0;
  for (std::uint32_t i = 0; i < count && call.error() == Error::ok; ++i) {
    const Entry& entry = plan->entries[i];
    const std::uint32_t own = ticks_of(entry);
    if (own > ticks) ticks = own;
    calls += entry.kind == Entry::Kind::call ? 1 : 0;
    call.require(own <= kMostTicks, Error::bad_constant);
    check_entry(call, entry, tensors);
  }
  plan->ticks = static_cast<std::uint16_t>(ticks);
  for (std::uint32_t i = 0; i < tensors.count; ++i) {
    Tensor tensor;
    if (!call.item(tensors, i, tensor)) return call.error();
    plan->tensors()[i] = tensor.data;
  }
  plan->steps = call.stages(first, calls);
  call.set_plan(plan);
  return call.error();
}

}  // namespace cormorant::ops::rows
