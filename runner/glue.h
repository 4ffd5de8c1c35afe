// SPDX-License-Identifier: Apache-2.0
//
// The one generated file of a firmware: an assembly file that carries the model's bytes, the table of exactly the
// kernels it calls, and its memory. Everything else is linked from prebuilt archives. runner/firmware/generated.h is
// what the firmware sees of it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "boards/boards.h"
#include "runner/program_facts.h"
#include "target/target.h"

namespace cormorant {

struct KernelChoice {
  std::string operator_name;
  std::string symbol;
};

// The kernel for each operator, out of those that an archive defines: the one for `isa`, or where an operator has none
// of its own, the next simpler instruction set's, which every CPU executes too. Throws InputError naming all operators
// that have no kernel at all.
std::vector<KernelChoice> choose_kernels(const std::vector<std::string>& operators, const Target& target,
                                         const std::vector<std::string>& defined_symbols);

struct PlacedArena {
  std::string_view region;
  std::uint64_t bytes = 0;
};

// Each arena in the board's memory of its name, if it has a name and that has room; else in the first that still has.
// Throws InputError when none has.
std::vector<PlacedArena> place_arenas(const std::vector<std::uint64_t>& arena_bytes, const Board& board,
                                      const std::vector<std::string>& names = {});

struct Glue {
  std::filesystem::path model;  // the .pte; read when the file is assembled
  std::string method;
  std::vector<KernelChoice> kernels;
  std::vector<PlacedArena> arenas;
  std::optional<std::uint64_t> state_bytes = {};  // unset: whatever memory is left
};

std::string assembly(const Glue& glue);

}  // namespace cormorant
