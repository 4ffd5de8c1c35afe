// SPDX-License-Identifier: Apache-2.0
//
// Load a .pte into memory that the caller provides, then execute it as often as wanted.
//
//   static std::byte state[1200], arena[16600];
//   const std::span<std::byte> arenas[] = {arena};
//   Failure why;
//   auto loaded = Program::load(model, "forward", operators, {state, arenas}, why);
//   memcpy(loaded.value().input(0).value().data, samples, n);
//   loaded.value().execute();
#pragma once

#include <span>

#include "runtime/kernel.h"

namespace cormorant {

// Both must outlive the program, the array of arenas as well.
struct Memory {
  std::span<std::byte> state;                    // plans and the list of steps
  std::span<const std::span<std::byte>> arenas;  // [0] is the program's memory id 1, and so on; 16-byte aligned
};

struct Step {
  void (*execute)(const void* plan);
  const void* plan;
};

class Program {
 public:
  Program() = default;

  // Verifies everything it reads: a damaged file is an error, never undefined behaviour. `operators` may hold more than
  // this program needs, so that several programs share one table; one in the order of the program's operators is
  // searched fastest. The program's bytes must be 16-byte aligned and stay where they are: tensors point into them.
  [[nodiscard]] static Result<Program> load(std::span<const std::byte> pte, const char* method,
                                            std::span<const Kernel* const> operators, const Memory& memory,
                                            Failure& why);

  [[nodiscard]] std::size_t input_count() const;
  [[nodiscard]] std::size_t output_count() const;
  // The tensor's data lies in the arena. After execute(), outputs stay valid until the next execute().
  [[nodiscard]] Result<Tensor> input(std::size_t index) const;
  [[nodiscard]] Result<Tensor> output(std::size_t index) const;

  void execute() const {
    for (const Step& step : steps_) step.execute(step.plan);
  }
  // The same with a call before and after each step, for profilers: hook.begin(i), hook.end(i).
  template <class Hook>
  void execute(Hook&& hook) const {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      hook.begin(i);
      steps_[i].execute(steps_[i].plan);
      hook.end(i);
    }
  }

  // Buffers that the model mutates from one execution to the next get their initial contents back; load does so too.
  void reset() const;

  [[nodiscard]] std::span<const Step> steps() const { return steps_; }
  [[nodiscard]] std::size_t state_used() const { return state_used_; }

 private:
  [[nodiscard]] class Source source() const;
  [[nodiscard]] Result<Tensor> border(std::size_t index, bool is_output) const;

  // Not the views that load made of it: they are made again in a few hundred instructions and would stay in RAM.
  std::span<const std::byte> pte_;
  std::span<const std::span<std::byte>> arenas_;
  std::span<const Step> steps_;
  std::size_t state_used_ = 0;
  std::uint32_t method_ = 0;  // its position in the file
};

}  // namespace cormorant
