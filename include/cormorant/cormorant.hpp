// SPDX-License-Identifier: Apache-2.0
//
// Cormorant's runtime for firmware in C++17: cormorant.h with types, at no cost. Needs no C++ library.
//
//   static cormorant::Program program;
//   cormorant::Failure why;
//   if (program.load(model, memory, &why) != cormorant::Error::ok) return report(describe(why.error));
//   read_microphone(program.input(0).as<float>());
//   program.execute();
//   show(program.output(0).as<float>());
#ifndef CORMORANT_CORMORANT_HPP
#define CORMORANT_CORMORANT_HPP

#include "cormorant/cormorant.h"
#include "cormorant/types.hpp"

namespace cormorant {

using Model = cormorant_model;
using Region = cormorant_region;
using Memory = cormorant_memory;
using Quantization = cormorant_quantization;

// An input or output. Without data: it does not exist.
class IoTensor {
 public:
  explicit operator bool() const { return tensor_.data != nullptr; }
  [[nodiscard]] void* data() const { return tensor_.data; }
  [[nodiscard]] uint32_t bytes() const { return tensor_.bytes; }
  [[nodiscard]] DType type() const { return static_cast<DType>(tensor_.type); }
  [[nodiscard]] Span<const int32_t> sizes() const { return {tensor_.sizes, tensor_.rank}; }  // PyTorch's order (NCHW)
  // The dimensions as they nest in memory, outermost first: 0 2 3 1 is channels-last.
  [[nodiscard]] Span<const uint8_t> order() const { return {tensor_.order, tensor_.rank}; }
  // All elements, in memory order. T must match type().
  template <class T>
  [[nodiscard]] Span<T> as() const {
    return {static_cast<T*>(tensor_.data), tensor_.bytes / sizeof(T)};
  }

 private:
  friend class Program;
  cormorant_tensor tensor_ = {};
};

class Program {
 public:
  constexpr Program() = default;

  // Verifies everything it reads: a damaged file is an error, never undefined behaviour. After an error the program is
  // empty: no inputs, no outputs, nothing to execute. Loading again, even another model, starts afresh.
  [[nodiscard]] Error load(const Model& model, const Memory& memory, Failure* why = nullptr) {
    cormorant_failure failure;
    const auto error = static_cast<Error>(cormorant_load(&program_, &model, &memory, &failure));
    if (why != nullptr) *why = {error, failure.instruction, failure.argument, failure.required, failure.actual};
    return error;
  }
  // Buffers that the model mutates from one execution to the next get their initial contents back; load does so too.
  void reset() const { cormorant_reset(&program_); }
  // Buffers as one span of bytes (cormorant_save).
  size_t buffer_bytes() const { return cormorant_buffer_bytes(&program_); }
  void save(void* to) const { cormorant_save(&program_, to); }
  void restore(const void* from) const { cormorant_restore(&program_, from); }

  // Cannot fail. Write all inputs before, read the outputs before the next: their memory is used for others too.
  void execute() const { cormorant_execute(&program_); }
  // The same with a call before and after each instruction, for profilers: hook.begin(i), hook.end(i).
  template <class Hook>
  void execute(Hook&& hook) const {
    for (size_t i = 0; i < program_.step_count; ++i) {
      hook.begin(i);
      cormorant_execute_step(&program_, i);
      hook.end(i);
    }
  }
  [[nodiscard]] size_t step_count() const { return program_.step_count; }
  void execute_step(size_t step) const { cormorant_execute_step(&program_, step); }

  // For a program compiled with --feed=rows, instead of execute(): the next rows of the image (cormorant_push_rows).
  // With the last of them the outputs are there.
  [[nodiscard]] Error push_rows(const void* rows, size_t count) const {
    return static_cast<Error>(cormorant_push_rows(&program_, rows, count));
  }
  [[nodiscard]] size_t missing_rows() const { return cormorant_missing_rows(&program_); }
  void drop_rows() const { cormorant_drop_rows(&program_); }

  [[nodiscard]] size_t input_count() const { return cormorant_input_count(&program_); }
  [[nodiscard]] size_t output_count() const { return cormorant_output_count(&program_); }
  [[nodiscard]] IoTensor input(size_t index) const {
    IoTensor tensor;
    if (cormorant_input(&program_, index, &tensor.tensor_) != CORMORANT_OK) tensor.tensor_.data = nullptr;
    return tensor;
  }
  [[nodiscard]] IoTensor output(size_t index) const {
    IoTensor tensor;
    if (cormorant_output(&program_, index, &tensor.tensor_) != CORMORANT_OK) tensor.tensor_.data = nullptr;
    return tensor;
  }
  // Scale 0: not quantized, or the file does not say.
  [[nodiscard]] Quantization input_quantization(size_t index) const {
    Quantization quantization = {0, 0};
    (void)cormorant_input_quantization(&program_, index, &quantization);
    return quantization;
  }
  [[nodiscard]] Quantization output_quantization(size_t index) const {
    Quantization quantization = {0, 0};
    (void)cormorant_output_quantization(&program_, index, &quantization);
    return quantization;
  }
  [[nodiscard]] const char* input_name(size_t index) const { return cormorant_input_name(&program_, index); }
  [[nodiscard]] const char* output_name(size_t index) const { return cormorant_output_name(&program_, index); }

  [[nodiscard]] size_t state_used() const { return program_.state_used; }
  [[nodiscard]] const cormorant_program& c() const { return program_; }  // for code written in C

 private:
  cormorant_program program_ = {};
};

}  // namespace cormorant

#endif
