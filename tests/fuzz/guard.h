// SPDX-License-Identifier: Apache-2.0
//
// A program on a board with every tensor in a place of its own and unused bytes around it: a kernel that writes a byte
// beside its result or scratch is found out, however the numbers come out. Memory protection guards what lies outside
// of the arena.
#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/board.h"

namespace cormorant::fuzz {

// Whether the board has room for the program made so; then what went wrong, empty if nothing did.
struct Guarded {
  bool fits = false;
  std::string failure;
};
Guarded run_guarded(const FuzzBoard& board, std::span<const std::byte> program);

}  // namespace cormorant::fuzz
