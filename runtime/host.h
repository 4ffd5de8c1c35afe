// SPDX-License-Identifier: Apache-2.0
//
// The runtime on the host: the same loader and executor as on a board, with memory that it allocates itself and errors
// that are diagnostics. Kernels are handed in (the operators' reference kernels, or a test's own).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "runtime/program.h"

namespace cormorant {

// Bytes of all arenas that a program may plan: none for a microcontroller needs more.
inline constexpr std::int64_t kMostArenas = std::int64_t{1} << 30;

// Memory of exactly `size` bytes whose address is a multiple of 16, as boards' linker scripts align it; zeroed.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::size_t size);
  explicit AlignedBytes(std::span<const std::byte> contents);
  [[nodiscard]] std::span<std::byte> span() const { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_ = 0;
};

class HostProgram {
 public:
  // Throws InputError that names `file`, the instruction, its operator and argument, and what is wrong with it.
  HostProgram(std::span<const std::byte> pte, std::span<const Kernel* const> kernels, std::string file = {},
              std::string method = "forward");

  // One byte vector per input in the program's own layout and type; one per output. Inputs that are not given are zero.
  // An image that arrives by rows is passed whole.
  std::vector<std::vector<std::byte>> run(std::span<const std::vector<std::byte>> inputs);

  [[nodiscard]] const Program& program() const { return program_; }

 private:
  void push_rows(std::span<const std::byte> image);
  void push_row(const std::byte* row);
  [[nodiscard]] std::vector<std::vector<std::byte>> outputs() const;

  std::string file_;
  AlignedBytes pte_;
  AlignedBytes state_;
  std::vector<AlignedBytes> arenas_;
  std::vector<Region> regions_;
  Program program_;
};

// How many bytes of state the method takes on a Cortex-M, with room for all that its kernels would share: it is loaded
// here by the same code, which counts what its plans take there (StateSize, runtime/kernel.h). Throws InputError as
// HostProgram does.
std::uint64_t state_on_target(std::span<const std::byte> pte, const std::string& method,
                              std::span<const Kernel> kernels);

// All operators of the program's methods that the table does not have, as "ns::op.overload", each once; none if the
// file cannot be read.
std::vector<std::string> missing_operators(std::span<const std::byte> pte, std::span<const Kernel* const> table);

// What a load's failure means, in terms of the file: also for a Failure that a board reported. The field `file` is
// left to the caller.
Diagnostic explain(const Failure& failure, std::span<const std::byte> pte, std::string_view method);

}  // namespace cormorant
