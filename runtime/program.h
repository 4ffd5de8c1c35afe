// SPDX-License-Identifier: Apache-2.0
//
// A loaded program with C++20 types, for the host and for tests. It wraps the public API: firmware uses only
// include/cormorant.
#pragma once

#include <span>

#include "cormorant/cormorant.hpp"
#include "runtime/kernel.h"

namespace cormorant {

// The memory, the array of arenas as well, must outlive the program.
[[nodiscard]] inline Result<Program> load_program(std::span<const std::byte> pte, const char* method,
                                                  std::span<const Kernel* const> operators, std::span<std::byte> state,
                                                  std::span<const Region> arenas, Failure& why) {
  Program program;
  const Error error = program.load({pte.data(), pte.size(), method, operators.data(), operators.size()},
                                   {{state.data(), state.size()}, arenas.data(), arenas.size()}, &why);
  if (error != Error::ok) return error;
  return program;
}

inline Region region_of(std::span<std::byte> memory) { return {memory.data(), memory.size()}; }

}  // namespace cormorant
