// SPDX-License-Identifier: Apache-2.0
//
// The file's tensors in the caller's memory. Nothing is kept per tensor: what a kernel does not copy into its plan
// stays in the file and is looked up again on request.
#include <cstring>

#include "formats/pte/origin.h"
#include "runtime/loader.h"

namespace cormorant {
namespace {

constexpr std::size_t kArenaAlignment = 16;  // what memory planners assume of offset 0

bool is_aligned(const std::byte* data, std::size_t alignment) {  // alignment is a power of two
  return (reinterpret_cast<std::uintptr_t>(data) & (alignment - 1)) == 0;
}

}  // namespace

[[gnu::noinline]] Source::Source(std::span<const std::byte> pte, const std::span<const Region>& arenas)
    : error_(program_.read(pte)), arenas_(arenas) {}

Source::Source(std::span<const std::byte> pte, const char* method, const std::span<const Region>& arenas)
    : Source(pte, arenas) {
  if (error_ == Error::ok) error_ = program_.find_method(method, method_);
  read_origin();
}

Source::Source(std::span<const std::byte> pte, std::uint32_t method, const std::span<const Region>& arenas)
    : Source(pte, arenas) {
  if (error_ == Error::ok) error_ = program_.open_method(method, method_);
  read_origin();
}

[[gnu::noinline]] void Source::read_origin() {
  std::string_view origin;
  if (error_ != Error::ok || !pte::find_origin(method(), origin)) return;
  is_ours_ = true;
  is_exactly_planned_ = pte::is_for_one_cpu(origin);
  if (pte::has_constants_in_ram(origin)) find_constants_in_ram();
}

// A tensor without data gives their range.
[[gnu::noinline]] void Source::find_constants_in_ram() {
  pte::TensorView copies;
  error_ = method().read_tensor(pte::kCopies, copies);
  if (error_ != Error::ok) return;
  if (!copies.is_planned() || copies.data_index != 0) error_ = Error::bad_constant;
  copies_ = {copies.memory_id, copies.offset, copies.offset + copies.bytes};
}

// Inlined here, on the deepest path.
Error Source::check_constants(const pte::TensorView& view, bool& is_constant) const {
  const std::uint32_t end = view.offset + view.bytes;
  if (view.memory_id != copies_.memory_id || view.offset >= copies_.end || end <= copies_.begin) return Error::ok;
  is_constant = view.data_index != 0 && view.offset >= copies_.begin && end <= copies_.end;
  return is_constant ? Error::ok : Error::bad_constant;
}

Error Source::check_arenas(Failure& why) const {
  const auto sizes = method().memory_sizes();
  for (std::size_t id = 1; id < sizes.size(); ++id) {
    const Region arena = id <= arenas_.size() ? arenas_[id - 1] : Region{};
    // A negative size is more than any arena has; an arena of zero bytes is valid too: empty tensors are there.
    if (id > arenas_.size() || static_cast<std::uint64_t>(sizes[id]) > arena.bytes) {
      why.argument = static_cast<std::uint16_t>(id);
      why.required = static_cast<std::uint32_t>(sizes[id]);
      why.actual = static_cast<std::uint32_t>(arena.bytes);
      return Error::arena_too_small;
    }
    if (!is_aligned(static_cast<const std::byte*>(arena.data), kArenaAlignment)) return Error::misaligned;
  }
  return Error::ok;
}

Error Source::resolve(std::int32_t value, Tensor& tensor) const {
  if (value == last_value_ && last_.data != nullptr) {
    tensor = last_;
    return Error::ok;
  }
  pte::TensorView view;
  const Error error = method().read_tensor(value, view);
  if (error != Error::ok) return error;
  if (view.sizes.size() > kMaxRank) return Error::unsupported;
  if (view.is_planned()) {
    // State and constants in RAM: reset() copies the initial value here.
    tensor.constant = false;
    const Error shared = check_constants(view, tensor.constant);
    if (shared != Error::ok) return shared;
    if (view.data_index != 0 && program_.initial_data(view.data_index, view.bytes) == nullptr) {
      return Error::bad_constant;
    }
    tensor.data = arena(view.memory_id) + view.offset;
  } else {
    // A tensor with neither place nor data would be placed by the caller, but plans hold addresses from load on.
    if (view.data_index == 0) return Error::unsupported;
    tensor.data = const_cast<std::byte*>(program_.constant_data(view.data_index, view.bytes));
    if (tensor.data == nullptr) return Error::bad_constant;
    tensor.constant = true;
  }
  tensor.sizes = view.sizes.data();
  tensor.dim_order = view.dim_order.data();
  tensor.size_in_bytes = view.bytes;
  tensor.rank = static_cast<std::uint8_t>(view.sizes.size());
  tensor.dtype = view.dtype;
  if (!is_aligned(tensor.data, size_of(view.dtype))) return Error::misaligned;
  last_ = tensor;
  last_value_ = value;
  return Error::ok;
}

Error Source::resolve_io(std::span<const std::int32_t> values, std::size_t index, Tensor& tensor) const {
  if (index >= values.size()) return Error::bad_input;
  const Error error = resolve(values[index], tensor);
  return tensor.constant ? Error::bad_constant : error;
}

void Source::reset() const {
  const auto sizes = method().memory_sizes();
  for (std::size_t id = 1; begins_cleared() && id < sizes.size(); ++id) {
    std::memset(arenas_[id - 1].data, 0, static_cast<std::size_t>(sizes[id]));
  }
  write_initial_values();
}

void Source::write_initial_values() const {
  for_each_persistent([](std::byte* memory, const std::byte* initial, std::size_t bytes, bool /*is_constant*/) {
    std::memcpy(memory, initial, bytes);
  });
}

}  // namespace cormorant
