// SPDX-License-Identifier: Apache-2.0
//
// One kernel's arguments: taken in the signature's order, checked, and converted to the types of the signature's
// fields. After a failure there is no next argument, the accessors refuse index −1, and the first failure stands: so no
// function here asks whether an earlier one failed.
#include <algorithm>
#include <iterator>

#include "base/element.h"
#include "runtime/call_types.h"
#include "runtime/loader.h"

namespace cormorant {
void Call::fail(Error error, std::uint32_t required, std::uint32_t actual) {
  if (failure_->error != Error::ok) return;
  failure_->error = error;
  failure_->required = required;
  failure_->actual = actual;
}

bool Call::is_only_input(const std::byte* data, std::size_t bytes) const {
  const Source& source = loader_->source();
  const auto inputs = source.io_values(false);
  if (!inputs.ok() || inputs.value().size() != 1) return false;
  Tensor input;
  if (source.resolve_io(inputs.value(), 0, input) != Error::ok) return false;
  return input.data == data && input.bytes() == bytes;
}

// Where state is all that was lacking, the rest of what the call needs is counted as well.
void* Call::take(std::size_t bytes, std::size_t alignment) {
  const bool is_sound = error() == Error::ok || error() == Error::state_too_small;
  return is_sound ? loader_->allocate(bytes, alignment) : nullptr;
}
void Call::count_on_target(std::uint32_t bytes, std::uint32_t alignment, std::uint32_t count) {
  loader_->on_target().add(bytes, alignment, count);
}
void* Call::share(std::size_t bytes) { return error() == Error::ok ? loader_->share(bytes) : nullptr; }

CallTypes Call::types() const { return types_of(loader_->source().method(), loader_->arguments()); }

const cormorant_step* Call::stages(std::int32_t first, std::uint32_t count) {
  const cormorant_step* const steps = first < 0 ? nullptr : loader_->stages(static_cast<std::uint32_t>(first), count);
  require(steps != nullptr, Error::bad_structure);
  return steps;
}

std::int32_t Call::next_argument() {
  if (error() != Error::ok) return -1;
  const std::span<const std::int32_t>& args = loader_->arguments();
  failure_->argument = next_;
  if (next_ < args.size()) return args[next_++];
  fail(Error::bad_value, next_ + 1U, static_cast<std::uint32_t>(args.size()));
  return -1;
}

void Call::read(Tensor& field, Role role) {
  fail(loader_->source().resolve(next_argument(), field));
  field.role = role;
  if (role != Role::read && field.constant) fail(Error::bad_constant);
}

void Call::read(OptionalTensor& field) {
  const std::int32_t value = next_argument();
  const auto kind = loader_->source().method().kind(value);
  if (kind.ok() && kind.value() == pte::ValueKind::none) return;
  fail(loader_->source().resolve(value, field));
}

// The file's integers have 64 bits; operators on machines of this size use at most 32.
void Call::read(std::int32_t& field) {
  const auto value = loader_->source().method().integer(next_argument());
  field = static_cast<std::int32_t>(value.value());
  fail(value.ok() && field != value.value() ? Error::bad_value : value.error());
}

void Call::read(float& field) {
  const auto value = loader_->source().method().floating(next_argument());
  field = static_cast<float>(value.value());
  fail(value.error());
}

void Call::read(bool& field) {
  const auto value = loader_->source().method().boolean(next_argument());
  field = value.value();
  fail(value.error());
}

void Call::read(std::uint32_t& count, std::span<std::int32_t> items) {
  const auto listed = loader_->source().method().integers(next_argument(), items);
  count = listed.value();
  fail(listed.error());
}

void Call::read(OptionalInt& field) {
  const std::int32_t value = next_argument();
  const auto kind = loader_->source().method().kind(value);
  if (kind.ok() && kind.value() == pte::ValueKind::none) return;
  constexpr std::int64_t kLimit = 0x7FFFFFFF;
  const auto integer = loader_->source().method().integer(value);
  field.value = static_cast<std::int32_t>(std::clamp(integer.value(), -kLimit, kLimit));
  field.present = true;
  fail(integer.error());
}

void Call::read(OptionalIntList& field) {
  const std::int32_t value = next_argument();
  const auto kind = loader_->source().method().kind(value);
  if (kind.ok() && kind.value() == pte::ValueKind::none) return;
  const auto count = loader_->source().method().integers(value, field.items);
  field.count = count.value();
  field.present = true;
  fail(count.error());
}

void Call::read(TensorList& field) {
  const auto values = loader_->source().method().tensor_list(next_argument());
  if (values.ok()) field = {values.value().data(), static_cast<std::uint32_t>(values.value().size())};
  fail(values.error());
}

bool Call::item(const TensorList& list, std::uint32_t index, Tensor& tensor) {
  tensor = {};
  fail(loader_->source().resolve(list.values[index], tensor));
  return error() == Error::ok;
}

void Call::read(DType& field) {
  std::int32_t code = 0;
  read(code);
  field = static_cast<DType>(code);
  if (code < 0 || code > 255 || size_of(field) == 0) fail(Error::unsupported);
}

void Call::read_scalar(std::int32_t value, Scalar& field) {
  const pte::MethodView& method = loader_->source().method();
  const auto kind = method.kind(value);
  if (kind.ok() && kind.value() == pte::ValueKind::integer) {
    std::int32_t integer = 0;
    const auto wide = method.integer(value);
    integer = static_cast<std::int32_t>(wide.value());
    field.value = static_cast<float>(integer);
    return fail(wide.ok() && integer != wide.value() ? Error::bad_value : wide.error());
  }
  const auto number = method.floating(value);
  field.value = static_cast<float>(number.value());
  fail(number.error());
}

void Call::read(Scalar& field) { read_scalar(next_argument(), field); }

void Call::read(OptionalScalar& field) {
  const std::int32_t value = next_argument();
  const auto kind = loader_->source().method().kind(value);
  if (kind.ok() && kind.value() == pte::ValueKind::none) return;
  read_scalar(value, field);
  field.present = true;
}

void Call::read(Number& field) { read_number(next_argument(), field); }

void Call::read(OptionalNumber& field) {
  const std::int32_t value = next_argument();
  const auto kind = loader_->source().method().kind(value);
  if (kind.ok() && kind.value() == pte::ValueKind::none) return;
  read_number(value, field);
  field.present = true;
}

void Call::read_number(std::int32_t value, Number& field) {
  const pte::MethodView& method = loader_->source().method();
  const auto kind = method.kind(value);
  if (kind.ok() && kind.value() == pte::ValueKind::floating) {
    field.real = static_cast<float>(method.floating(value).value());
    field.integer = saturated(field.real);
    return;
  }
  field.is_integer = true;
  if (kind.ok() && kind.value() == pte::ValueKind::boolean) {
    field.integer = method.boolean(value).value() ? 1 : 0;
  } else {
    const auto integer = method.integer(value);
    field.integer = integer.value();
    fail(integer.error());
  }
  field.real = static_cast<float>(field.integer);
}

void Call::read(OptionalFloatPair& field) {
  const pte::MethodView& method = loader_->source().method();
  const std::int32_t value = next_argument();
  const auto kind = method.kind(value);
  if (kind.ok() && kind.value() == pte::ValueKind::none) return;
  const auto list = method.double_list(value);
  if (!list.ok()) return fail(list.error());
  field.present = true;
  field.count = static_cast<std::uint32_t>(list.value().size());
  for (std::size_t i = 0; i < list.value().size() && i < std::size(field.items); ++i) {
    field.items[i] = list.value()[i];
  }
}

void Call::read(OptionalTensorList& field) {
  const auto values = loader_->source().method().optional_tensor_list(next_argument());
  if (values.ok()) {
    field.values = values.value().data();
    field.count = static_cast<std::uint32_t>(values.value().size());
  }
  fail(values.error());
}

bool Call::item(const OptionalTensorList& list, std::uint32_t index, OptionalTensor& tensor) {
  tensor = {};
  const std::int32_t value = list.values[index];
  if (value == -1) return error() == Error::ok;  // as ExecuTorch's compiler writes none
  const auto kind = loader_->source().method().kind(value);
  if (kind.ok() && kind.value() == pte::ValueKind::none) return error() == Error::ok;
  fail(loader_->source().resolve(value, tensor));
  return error() == Error::ok;
}

void Call::read(std::string_view& field) {
  const std::int32_t value = next_argument();
  const auto kind = loader_->source().method().kind(value);
  if (kind.ok() && kind.value() == pte::ValueKind::none) return;
  const auto text = loader_->source().method().string(value);
  if (text.ok()) field = text.value();
  fail(text.error());
}

void Call::finish() {
  if (error() != Error::ok) return;
  const auto args = loader_->arguments();
  // Results are named again after the arguments: the same values, or one list of them.
  auto results = args.subspan(next_);
  if (results.size() == 1 && results[0] != args[next_ - 1]) {
    const auto list = loader_->source().method().tensor_list(results[0]);
    if (list.ok()) results = list.value();
  }
  if (results.size() > next_ || !std::ranges::equal(results, args.subspan(next_ - results.size(), results.size()))) {
    failure_->argument = next_;
    return fail(Error::bad_value, next_, static_cast<std::uint32_t>(args.size()));
  }
  failure_->argument = Failure::kNone;
}

namespace {

// Whether they have a byte in common.
bool overlaps(const Tensor& a, const Tensor& b) {
  return a.data < b.data + b.bytes() && b.data < a.data + a.bytes() && a.bytes() != 0 && b.bytes() != 0;
}

bool is_offered(const Tensor& written, const Tensor& other, Overlap permitted) {
  if (written.role != Role::written || other.role != Role::read) return false;
  return written.data == other.data ? permitted != Overlap::none
                                    : permitted == Overlap::covered && written.data < other.data;
}

}  // namespace

void Call::require_apart(const Tensor& a, const Tensor& b) { require(!overlaps(a, b), Error::bad_memory); }

void Call::check_overlap(const Tensor** begin, const Tensor** end, Overlap permitted) {
  if (error() != Error::ok) return;
  std::uint32_t results = 0;
  std::uint32_t bytes = 0;  // of at least one of the results, if any has some
  for (const Tensor** at = begin; at != end; ++at) {
    const Tensor& written = **at;
    if (written.role == Role::read) continue;
    if (written.role == Role::written) {
      ++results;
      bytes |= written.bytes();
    }
    for (const Tensor** other = begin; other != end; ++other) {
      // Constants are where nothing is written. Two that are written are compared twice.
      if (other == at || (*other)->constant) continue;
      if (overlaps(written, **other) && !is_offered(written, **other, permitted)) fail(Error::bad_memory);
    }
  }
  computes_nothing_ = results != 0 && bytes == 0;
}

void Call::require_aligned(const Tensor& tensor, std::uint32_t alignment) {
  require((reinterpret_cast<std::uintptr_t>(tensor.data) & (alignment - 1)) == 0, Error::misaligned);
}

bool Call::is_readable(const Tensor& tensor, std::uint32_t bytes, std::uint32_t alignment) {
  require(tensor.constant && tensor.bytes() >= bytes, Error::bad_constant);
  require_aligned(tensor, alignment);
  return error() == Error::ok;
}

void Call::require_scratch(const Tensor& scratch, std::uint32_t bytes, std::uint32_t alignment) {
  const std::uint32_t planned = scratch.bytes();
  if (planned < bytes) fail(Error::scratch_too_small, bytes, planned);
#ifdef CORMORANT_CHECKED
  if (planned > bytes && loader_->source().is_exactly_planned()) fail(Error::scratch_mismatch, bytes, planned);
#endif
  if (bytes != 0) require_aligned(scratch, alignment);
}

}  // namespace cormorant
