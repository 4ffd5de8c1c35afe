// SPDX-License-Identifier: Apache-2.0
//
// A .pte as objects that can be changed arbitrarily and written again, valid or not. Unlike the compiler's writer it
// refuses nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/pte/program_generated.h"

namespace cormorant::fuzz {

namespace schema = pte::schema;
using Bytes = std::vector<std::byte>;

class EditableProgram {
 public:
  schema::ProgramT program;
  Bytes segments;  // all of them, as they follow the flatbuffer

  // None if the bytes are not a flatbuffer of a program with a method and a chain.
  static std::optional<EditableProgram> read(std::span<const std::byte> file);
  [[nodiscard]] Bytes write() const;

  [[nodiscard]] schema::ExecutionPlanT& plan() { return *program.execution_plan[0]; }
  // Null if the value is of another kind.
  [[nodiscard]] schema::TensorT* tensor(std::int32_t value);
  [[nodiscard]] std::vector<schema::TensorT*> tensors();
  [[nodiscard]] std::vector<schema::KernelCallT*> calls();
  [[nodiscard]] std::string operator_of(const schema::KernelCallT& call) const;  // "ns::name.overload"

  // The bytes of a constant, from its beginning to the end of all segments; empty if it is none.
  [[nodiscard]] std::span<std::byte> constant(const schema::TensorT& tensor);
  // Gives the tensor, which becomes a vector of bytes, new data after all others.
  void replace_constant(schema::TensorT& tensor, std::span<const std::byte> data);
  // Every planned tensor at a place of its own in memory 1, one after another, `gap` bytes apart. One of them may be
  // asked to be the last, and to end where the memory does, as far as its alignment lets it.
  void plan_again(std::uint32_t alignment, std::uint32_t gap, const schema::TensorT* last = nullptr);
};

std::int64_t bytes_of(const schema::TensorT& tensor);

}  // namespace cormorant::fuzz
