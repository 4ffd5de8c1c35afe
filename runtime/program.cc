// SPDX-License-Identifier: Apache-2.0
//
// The order of loading, and the finished program. Program::load and Loader::load are the diagram: file and method,
// memory and what it holds at the beginning; one step per instruction, inputs and outputs.
#include "runtime/program.h"

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

// Begins where the operator stands in a table generated from the program, so that this one finds it at once.
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
  if (at > size || bytes > size - at) {
    failure_.error = Error::state_too_small;
    failure_.required = static_cast<std::uint32_t>(at + bytes + shared_bytes());
    failure_.actual = static_cast<std::uint32_t>(state_.size());
    return nullptr;
  }
  used_ = at + bytes;
  return state_.data() + at;
}

// Everybody's ends where the state does, so that asking for more moves nobody's.
void* Loader::share(std::size_t bytes) {
  const std::size_t over = reinterpret_cast<std::uintptr_t>(state_.data() + state_.size()) % kSharedAlignment;
  const std::size_t whole = (bytes + kSharedAlignment - 1) & ~(kSharedAlignment - 1);
  const std::size_t free = state_.size() - used_;
  if (!may_share_ || whole < bytes || free < kSharedAlignment || whole > free - kSharedAlignment) return nullptr;
  if (shared_ < whole) shared_ = whole;
  return state_.data() + state_.size() - over - whole;
}

// Not part of its caller, whose frame lies below that of the kernel's load.
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
  Error error = find_kernel(index, operators);
  if (error != Error::ok) return error;
  Call call(*this, failure_);
  error = kernel_->load(call);
  steps_[index] = {call.computes_nothing_ ? do_nothing : kernel_->execute, call.plan()};
  return call.error() != Error::ok ? call.error() : error;
}

Error Loader::load(std::span<const Kernel* const> operators) {
  Error error = Error::ok;
  const std::uint32_t count = source_.method().instruction_count();
  // A file has less than 2^31 bytes, 4 or more for each instruction: the product fits 32 bits.
  steps_ = static_cast<Step*>(allocate(count * sizeof(Step), alignof(Step)));
  if (steps_ == nullptr) return Error::state_too_small;
  const std::size_t used = used_;
  for (std::uint32_t i = 0; i < count; ++i) {
    failure_.instruction = static_cast<std::uint16_t>(i);
    error = load_instruction(i, operators);
    if (error == Error::state_too_small && shared_ != 0) {  // plans go first: once more, and nothing is shared
      failure_ = {};
      may_share_ = false;
      shared_ = 0;
      used_ = used;
      i = ~0U;
      continue;
    }
    if (error != Error::ok) return error;
  }

  failure_.instruction = Failure::kNone;
  error = check_border(false);
  return error == Error::ok ? check_border(true) : error;
}

// Not part of its caller either.
[[gnu::noinline]] Error Loader::check_border(bool is_output) {
  const auto values = source_.border(is_output);
  for (std::size_t i = 0; i < values.value().size(); ++i) {
    failure_.argument = static_cast<std::uint16_t>(i);
    Tensor tensor;
    const Error error = source_.resolve_border(values.value(), i, tensor);
    if (error != Error::ok) return error;
  }
  return values.error();
}

Result<Program> Program::load(std::span<const std::byte> pte, const char* method,
                              std::span<const Kernel* const> operators, const Memory& memory, Failure& why) {
  ::new (&why) Failure;
  const Source source(pte, method, memory.arenas);
  Loader loader(source, memory.state, why);
  Error error = source.error();
  if (error == Error::ok) error = source.check_arenas(why);
  if (error == Error::ok) {
    source.reset();  // before the instructions, which look at their constants
    error = loader.load(operators);
  }
  Result<Program> loaded = error;
  why.error = error;
  if (loaded.ok()) {
    why.argument = Failure::kNone;  // the last output was the last thing to be checked
    Program& program = loaded.value();
    program.pte_ = pte;
    program.method_ = source.method().position();
    program.arenas_ = memory.arenas;
    program.steps_ = loader.steps();
    program.state_used_ = loader.state_used();
  }
  return loaded;
}

// load() has seen it succeed.
Source Program::source() const { return {pte_, method_, arenas_}; }

std::size_t Program::input_count() const { return source().method().inputs().value().size(); }
std::size_t Program::output_count() const { return source().method().outputs().value().size(); }

Result<Tensor> Program::input(std::size_t index) const { return border(index, false); }
Result<Tensor> Program::output(std::size_t index) const { return border(index, true); }

Result<Tensor> Program::border(std::size_t index, bool is_output) const {
  const Source source = this->source();
  Tensor tensor;
  const Error error = source.resolve_border(source.border(is_output).value(), index, tensor);
  if (error != Error::ok) return error;
  return tensor;
}

void Program::reset() const { source().reset(); }

}  // namespace cormorant
