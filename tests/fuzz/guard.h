// SPDX-License-Identifier: Apache-2.0
//
// A program on a board with every tensor in a place of its own and unused bytes around it: a kernel that writes a
// byte outside its result or scratch is caught, whatever it computes. Memory protection guards what is outside the
// arena.
#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/board.h"

namespace cormorant::fuzz {

// Whether the board has room for the program in this form; if so, what went wrong, empty if nothing did.
struct Guarded {
  bool fits = false;
  std::string failure;
};
Guarded run_guarded(const FuzzBoard& board, std::span<const std::byte> program);

// All of the programs in one boot, each with each of its tensors in turn at the arena's end, past which nothing may be
// read either. Those that are too large are left out. What went wrong, empty if nothing did.
std::string run_at_end(const FuzzBoard& board, std::span<const Bytes> programs);

}  // namespace cormorant::fuzz
