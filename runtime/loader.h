// SPDX-License-Identifier: Apache-2.0
//
// Inside the runtime: what program.cc (the order of loading), source.cc (the file's tensors in the caller's memory) and
// call.cc (one kernel's arguments) share. The reader checks that the file is whole; here its meaning is checked against
// the caller's memory.
#pragma once

#include <span>
#include <type_traits>

#include "cormorant/cormorant.h"
#include "formats/pte/reader.h"
#include "runtime/kernel.h"

namespace cormorant {

using Region = cormorant_region;
using Step = cormorant_step;

// One method of a file, and the memory its planned tensors are in. On the stack while something is loaded or looked up;
// constructed in place, because its views are the largest objects there.
class Source {
 public:
  Source(std::span<const std::byte> pte, const char* method, const std::span<const Region>& arenas);
  // For a method that was found before, by its position.
  Source(std::span<const std::byte> pte, std::uint32_t method, const std::span<const Region>& arenas);

  // Whether the file could be read that far; nothing else may be called before that is known.
  [[nodiscard]] Error error() const { return error_; }
  [[nodiscard]] const pte::MethodView& method() const { return method_; }

  // The memories that the method plans with are all there, large enough and aligned: from here on every tensor has an
  // address.
  [[nodiscard]] Error check_arenas(Failure& why) const;
  // A value of the method as a kernel's tensor. Whatever it yields can be read in full, and written unless constant.
  [[nodiscard]] Error resolve(std::int32_t value, Tensor& tensor) const;
  // The method's inputs or outputs; one of them, which must be a tensor in RAM.
  [[nodiscard]] Result<std::span<const std::int32_t>> io_values(bool is_output) const {
    if (error_ != Error::ok) return error_;  // of a program that was not loaded
    return is_output ? method_.outputs() : method_.inputs();
  }
  [[nodiscard]] Error resolve_io(std::span<const std::int32_t> values, std::size_t index, Tensor& tensor) const;
  // Writes the initial values of all persistent tensors, and copies constants to where they are kept in RAM.
  void write_initial_values() const;
  void reset() const;
  // Other compilers write neither initial values of zero nor which tensors they leave out: their programs begin, and
  // are reset, with all memory cleared.
  [[nodiscard]] bool begins_cleared() const { return !is_ours_; }
  // visit(memory, initial value, bytes, is_constant) of each of these.
  template <class Visit>
  void for_each_persistent(Visit visit) const {
    // Most programs have no state. Their file has no initial values, so looking for the first of them is enough.
    if (program_.initial_data(1, 0) == nullptr) return;
    const auto count = static_cast<std::int32_t>(method().value_count());
    for (std::int32_t i = 0; i < count; ++i) {
      pte::TensorView view;
      if (method().read_tensor(i, view) != Error::ok) continue;
      if (!view.is_planned() || view.data_index == 0 || view.bytes == 0) continue;
      bool is_constant = false;
      if (check_constants(view, is_constant) != Error::ok) continue;
      const std::byte* const initial = program_.initial_data(view.data_index, view.bytes);
      if (initial == nullptr) continue;  // of a tensor that no instruction uses: the others have been checked
      visit(arena(view.memory_id) + view.offset, initial, view.bytes, is_constant);
    }
  }
  // Whether our own compiler made the program, for one instruction set: then scratch is planned to the byte.
  [[nodiscard]] bool is_exactly_planned() const { return is_exactly_planned_; }

 private:
  Source(std::span<const std::byte> pte, const std::span<const Region>& arenas);
  [[nodiscard]] std::byte* arena(std::uint32_t memory_id) const {
    return static_cast<std::byte*>(arenas_[memory_id - 1].data);
  }
  void read_origin();
  // Kernels trust what they have checked at load: an error if anything else is where constants are read from RAM.
  void find_constants_in_ram();
  [[nodiscard]] Error check_constants(const pte::TensorView& view, bool& is_constant) const;

  pte::ProgramView program_;
  pte::MethodView method_;
  Error error_;
  bool is_ours_ = false;
  bool is_exactly_planned_ = false;  // known from the beginning: kernels ask where the stack is already deep
  struct {
    std::uint32_t memory_id = 0, begin = 0, end = 0;
  } copies_;  // of constants in RAM; id 0: there are none
  std::span<const Region> arenas_;
  // What was resolved last: usually an operator's result, which is the next one's input.
  mutable std::int32_t last_value_ = 0;
  mutable Tensor last_;  // without data: nothing was
};

// What loading takes on a Cortex-M: there it is known anyway.
struct SameOnTarget {
  static constexpr std::uint64_t bytes = 0;
  void add(std::uint32_t /*bytes*/, std::uint32_t /*alignment*/, std::uint32_t /*count*/) {}
};
struct OnTarget {
  std::uint64_t bytes = 0;
  void add(std::uint32_t each, std::uint32_t alignment, std::uint32_t count) {
    bytes = (bytes + alignment - 1) / alignment * alignment + std::uint64_t{each} * count;
  }
};

class Loader {
 public:
  Loader(const Source& source, std::span<std::byte> state, Failure& failure)
      : source_(source), state_(state), failure_(failure) {}

  [[nodiscard]] Error load(std::span<const Kernel* const> operators);
  [[nodiscard]] const Source& source() const { return source_; }
  // The instructions of an execution; they are followed by the stages that some of them call.
  [[nodiscard]] std::span<const Step> steps() const { return {steps_, end_}; }
  [[nodiscard]] std::size_t state_used() const { return used_ + shared_bytes(); }
  [[nodiscard]] auto& on_target() { return on_target_; }
  [[nodiscard]] std::uint64_t state_on_target() const { return on_target_.bytes + shared_bytes(); }

  // For the call being loaded: its arguments, and memory for its plan. Null, and a failure, when that is used up: the
  // calls after it are then still loaded, to find out how much they take.
  [[nodiscard]] const std::span<const std::int32_t>& arguments() const { return instruction_.args; }
  void* allocate(std::size_t bytes, std::size_t alignment);
  void* share(std::size_t bytes);
  const Step* stages(std::uint32_t first, std::uint32_t count);

 private:
  [[nodiscard]] Error find_kernel(std::uint32_t index, std::span<const Kernel* const> operators);
  [[nodiscard]] Error load_instruction(std::uint32_t index, std::span<const Kernel* const> operators);
  [[nodiscard]] Error check_inputs_and_outputs(bool is_output);

  const Source& source_;
  std::span<std::byte> state_;
  std::size_t used_ = 0;
  [[no_unique_address]] std::conditional_t<kIsCortexM, SameOnTarget, OnTarget> on_target_;
  // At the state's end, which may be anywhere.
  static constexpr std::size_t kSharedAlignment = 16;
  [[nodiscard]] std::size_t shared_bytes() const { return shared_ == 0 ? 0 : shared_ + kSharedAlignment; }
  std::size_t shared_ = 0;
  bool may_share_ = true;
  bool is_short_ = false;  // memory was used up
  Step* steps_ = nullptr;
  std::uint32_t end_ = 0;             // of an execution's steps
  std::uint32_t index_ = 0;           // of the instruction being loaded
  pte::InstructionView instruction_;  // the one being loaded, and its kernel
  const Kernel* kernel_ = nullptr;
  std::uint32_t found_ = 0;  // bit i: operator i of the program is known to be entry i of the table
  Failure& failure_;
};

}  // namespace cormorant
