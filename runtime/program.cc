// SPDX-License-Identifier: Apache-2.0
//
// The order of loading. cormorant_load and Loader::load are the overview: file and method, memory and its initial
// contents; one step per instruction, inputs and outputs.
#include "runtime/loader.h"

namespace cormorant {
namespace {

// What follows `text` at the beginning of a kernel's name; null if the name begins otherwise. No NUL is ever matched:
// it would lead past the end of the name.
[[gnu::noinline]] const char* skip(const char* name, std::string_view text) {
  for (const char character : text) {
    if (*name != character || character == '\0') return nullptr;
    ++name;
  }
  return name;
}

// Whether a kernel's name is the operator's: "ns::op.overload", or "ns::op" if the overload is empty.
bool is_named(const Kernel& kernel, const pte::OperatorView& op) {
  const char* rest = skip(kernel.name, op.name);
  if (rest != nullptr && !op.overload.empty()) rest = *rest == '.' ? skip(rest + 1, op.overload) : nullptr;
  return rest != nullptr && *rest == '\0';
}

// Starts where the operator is in a table generated from the program, so that it is found at once.
const Kernel* find(std::span<const Kernel* const> table, std::uint32_t begin, const pte::OperatorView& op) {
  std::size_t at = begin;
  for (std::size_t i = 0; i < table.size(); ++i, ++at) {
    if (at >= table.size()) at = 0;
    if (is_named(*table[at], op)) return table[at];
  }
  return nullptr;
}

void do_nothing(const void* /*plan*/) {}

}  // namespace

void* Loader::allocate(std::size_t bytes, std::size_t alignment) {
  const auto begin = reinterpret_cast<std::uintptr_t>(state_.data());
  const std::size_t at = ((begin + used_ + alignment - 1) & ~(alignment - 1)) - begin;
  const std::size_t size = state_.size() - shared_bytes();
  used_ = at + bytes;  // also where that is too much: the failure says what all instructions together need
  if (!is_short_ && at <= size && bytes <= size - at) return state_.data() + at;
  failure_.error = Error::state_too_small;
  is_short_ = true;
  may_share_ = false;
  return nullptr;
}

// All end where the state does, so asking for more moves none of them.
void* Loader::share(std::size_t bytes) {
  const std::size_t over = reinterpret_cast<std::uintptr_t>(state_.data() + state_.size()) % kSharedAlignment;
  const std::size_t whole = (bytes + kSharedAlignment - 1) & ~(kSharedAlignment - 1);
  const std::size_t free = state_.size() - used_;
  if (!may_share_ || whole < bytes || free < kSharedAlignment || whole > free - kSharedAlignment) return nullptr;
  if (shared_ < whole) shared_ = whole;
  return state_.data() + state_.size() - over - whole;
}

// All callers come before the first stage of any group: no stage calls stages.
const Step* Loader::stages(std::uint32_t first, std::uint32_t count) {
  const std::uint32_t all = source_.method().instruction_count();
  if (index_ >= end_ || first <= index_ || first > all || count > all - first) return nullptr;
  if (first < end_) end_ = first;
  return steps_ + first;
}

// Kept out of line: the caller's frame is beneath that of the kernel's load.
[[gnu::noinline]] Error Loader::find_kernel(std::uint32_t index, std::span<const Kernel* const> operators) {
  const auto instruction = source_.method().instruction(index);
  if (!instruction.ok()) return instruction.error();
  instruction_ = instruction.value();
  const std::uint32_t index_bit = instruction_.op < 32 ? 1U << instruction_.op : 0;
  if ((found_ & index_bit) != 0) {  // most programs call few operators often
    kernel_ = operators[instruction_.op];
    return Error::ok;
  }
  const auto op = source_.method().operator_at(instruction_.op);
  if (!op.ok()) return op.error();
  kernel_ = find(operators, instruction_.op, op.value());
  if (instruction_.op < operators.size() && operators[instruction_.op] == kernel_) found_ |= index_bit;
  return kernel_ != nullptr ? Error::ok : Error::unknown_operator;
}

[[gnu::always_inline]] inline Error Loader::load_instruction(std::uint32_t index,
                                                             std::span<const Kernel* const> operators) {
  failure_.argument = Failure::kNone;
  index_ = index;
  Error error = find_kernel(index, operators);
  if (error != Error::ok) return error;
  Call call(*this, failure_);
  error = kernel_->load(call);
  if (steps_ != nullptr) steps_[index] = {call.computes_nothing_ ? do_nothing : kernel_->execute, call.plan()};
  return call.error() != Error::ok ? call.error() : error;
}

Error Loader::load(std::span<const Kernel* const> operators) {
  Error error = Error::ok;
  const std::uint32_t count = source_.method().instruction_count();
  // A file has less than 2^31 bytes, 4 or more for each instruction: the product fits 32 bits.
  steps_ = static_cast<Step*>(allocate(count * sizeof(Step), alignof(Step)));
  on_target_.add(2 * 4, 4, count);  // two pointers
  end_ = count;
  const std::size_t used = used_;
  const auto on_target = on_target_;
  for (std::uint32_t i = 0; i < count; ++i) {
    failure_.instruction = static_cast<std::uint16_t>(i);
    failure_.error = Error::ok;
    error = load_instruction(i, operators);
    if (error == Error::state_too_small && shared_ != 0) {  // plans take precedence: load again, sharing nothing
      shared_ = 0;
      used_ = used;
      on_target_ = on_target;
      is_short_ = false;
      i = ~0U;
    } else if (error != Error::ok && error != Error::state_too_small) {
      return error;
    }
  }

  failure_.instruction = failure_.argument = Failure::kNone;
  if (is_short_) {
    failure_.required = static_cast<std::uint32_t>(used_);
    failure_.actual = static_cast<std::uint32_t>(state_.size());
    return Error::state_too_small;
  }
  error = check_inputs_and_outputs(false);
  return error == Error::ok ? check_inputs_and_outputs(true) : error;
}

// Not inlined either.
[[gnu::noinline]] Error Loader::check_inputs_and_outputs(bool is_output) {
  const auto values = source_.io_values(is_output);
  for (std::size_t i = 0; i < values.value().size(); ++i) {
    failure_.argument = static_cast<std::uint16_t>(i);
    Tensor tensor;
    const Error error = source_.resolve_io(values.value(), i, tensor);
    if (error != Error::ok) return error;
  }
  return values.error();
}

namespace {

Error load(const cormorant_model& model, const cormorant_memory& memory, cormorant_program& program, Failure& why) {
  const std::span pte(static_cast<const std::byte*>(model.data), model.bytes);
  const Source source(pte, model.method, {memory.arenas, memory.arena_count});
  Loader loader(source, {static_cast<std::byte*>(memory.state.data), memory.state.bytes}, why);
  Error error = source.error();
  if (error == Error::ok) error = source.check_arenas(why);
  if (error == Error::ok) {
    source.write_initial_values();  // before the instructions, which look at their constants
    error = loader.load({model.kernels, model.kernel_count});
  }
  if (error == Error::ok) {
    if (source.begins_cleared()) source.reset();
    why.argument = Failure::kNone;  // the last output was the last thing to be checked
    program = {.data = model.data,
               .bytes = model.bytes,
               .arenas = memory.arenas,
               .arena_count = memory.arena_count,
               .steps = loader.steps().data(),
               .step_count = loader.steps().size(),
               .state_used = loader.state_used(),
               .method = source.method().position()};
  }
  return error;
}

}  // namespace
}  // namespace cormorant

// Weak: the firmware's own replaces it.
[[gnu::weak]] int cormorant_accept(const void* /*data*/, size_t /*bytes*/) { return 1; }

cormorant_error cormorant_load(cormorant_program* program, const cormorant_model* model, const cormorant_memory* memory,
                               cormorant_failure* why) {
  using namespace cormorant;
  Failure failure;
  cormorant_error error = CORMORANT_REFUSED;
  *program = {};
  if (cormorant_accept(model->data, model->bytes) != 0) {
    error = static_cast<cormorant_error>(load(*model, *memory, *program, failure));
  }
  if (why != nullptr) *why = {error, failure.instruction, failure.argument, failure.required, failure.actual};
  return error;
}
