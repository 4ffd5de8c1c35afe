// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/guard.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/result.h"
#include "tests/fuzz/exercise.h"

namespace cormorant::fuzz {
namespace {

constexpr std::uint32_t kAlignment = 4;  // all that kernels ask of activations
constexpr std::uint32_t kGap = 32;       // more than a vector

// By which instruction's argument a place begins or ends, for a message.
std::string beside(EditableProgram& program, std::size_t at) {
  for (const schema::KernelCallT* call : program.calls()) {
    for (std::size_t i = 0; i < call->args.size(); ++i) {
      const schema::TensorT* tensor = program.tensor(call->args[i]);
      if (tensor == nullptr || tensor->allocation_info == nullptr) continue;
      const std::size_t begin = tensor->allocation_info->memory_offset_low;
      const std::size_t end = begin + static_cast<std::size_t>(bytes_of(*tensor));
      if (at >= end && at < end + kGap + kAlignment) {
        return fmt::format("{} bytes past argument {} of {}", at - end, i, program.operator_of(*call));
      }
    }
  }
  return "before all tensors";
}

}  // namespace

Guarded run_guarded(const FuzzBoard& board, std::span<const std::byte> program) {
  std::optional<EditableProgram> edit = EditableProgram::read(program);
  if (!edit) return {true, "the program cannot be changed"};
  edit->plan_again(kAlignment, kGap);
  const auto size = static_cast<std::size_t>(edit->plan().non_const_buffer_sizes.at(1));
  const Bytes changed = edit->write();
  if (changed.size() > kLargestProgram || size > kLargestArenas) return {};
  const BoardOutcome outcome = board.run(std::span(&changed, 1), true);
  if (outcome.failure) return {true, *outcome.failure};
  if (outcome.loaded != 1)
    return {true, fmt::format("the program is not loaded: {}", describe(static_cast<Error>(outcome.errors.at(0))))};
  std::vector<bool> is_used(size);
  for (const schema::TensorT* tensor : edit->tensors()) {
    if (tensor->allocation_info == nullptr) continue;
    std::fill_n(is_used.begin() + tensor->allocation_info->memory_offset_low, bytes_of(*tensor), true);
  }
  for (std::size_t i = 0; i < size; ++i) {
    if (!is_used[i] && outcome.arenas.at(i) != kPoison) return {true, "a write " + beside(*edit, i)};
  }
  return {true, ""};
}

std::string run_at_end(const FuzzBoard& board, std::span<const Bytes> programs) {
  std::vector<Bytes> changed;
  std::vector<std::string> names;
  for (std::size_t p = 0; p < programs.size(); ++p) {
    std::optional<EditableProgram> edit = EditableProgram::read(programs[p]);
    if (!edit) return "a program cannot be changed";
    for (const schema::TensorT* tensor : edit->tensors()) {
      if (tensor->allocation_info == nullptr || bytes_of(*tensor) == 0) continue;
      edit->plan_again(kAlignment, kGap, tensor);
      if (static_cast<std::size_t>(edit->plan().non_const_buffer_sizes.at(1)) > kArenaLimit) continue;
      Bytes bytes = edit->write();
      if (bytes.size() > kLargestProgram) continue;
      changed.push_back(std::move(bytes));
      names.push_back(fmt::format("program {}, with a tensor of {} bytes at the arena's end", p, bytes_of(*tensor)));
    }
  }
  if (changed.empty()) return "";
  const BoardOutcome outcome = board.run(changed);
  if (outcome.failure) return fmt::format("{}: {}", names.at(outcome.run), *outcome.failure);
  for (std::size_t i = 0; i < changed.size(); ++i) {
    const auto error = static_cast<Error>(outcome.errors.at(i));
    if (error != Error::ok) return fmt::format("{} is not loaded: {}", names[i], describe(error));
  }
  return "";
}

}  // namespace cormorant::fuzz
