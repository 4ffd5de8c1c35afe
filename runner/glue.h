// SPDX-License-Identifier: Apache-2.0
//
// The one generated file of firmware: an assembly file with the model's bytes, the table of exactly the kernels it
// calls, and its memory. Everything else is linked from prebuilt archives. runner/firmware/linked.h declares it for the
// firmware.
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
// For those in `of_numbers` the kernel for all types (runtime/call_types.h), if they have one.
std::vector<KernelChoice> choose_kernels(const std::vector<std::string>& operators, const Target& target,
                                         const std::vector<std::string>& defined_symbols,
                                         const std::vector<std::string>& of_numbers = {});

struct PlacedArena {
  std::string section;  // empty: it is defined elsewhere
  std::uint64_t bytes = 0;
  std::string symbol = {};
};

// Each arena in the board's memory of its name, if it has a name and that has room; else in the first that still has.
// Throws InputError when none has.
std::vector<PlacedArena> place_arenas(const std::vector<std::uint64_t>& arena_bytes, const Board& board,
                                      const std::vector<std::string>& names = {});

// In sections that a user's linker script knows: those of regions named to the compiler are ".arena.<name>", any other
// is ".bss". `owner` is the model, or the name of arenas that several models share.
std::vector<PlacedArena> own_arenas(const ProgramFacts& facts, const std::string& owner);

// Arenas that several models share: for each region the largest size that one of them needs. Throws InputError if their
// regions differ.
std::vector<PlacedArena> shared_arenas(const std::vector<ProgramFacts>& models, const std::string& owner);

// What a model keeps in its arenas would be overwritten by other models there: throws InputError for one that keeps
// state or constants. The methods of one file need no such check: the compiler lays them out for a common arena.
void require_sharable(const ProgramFacts& facts, const std::string& model, const std::string& owner);

// Only the arenas, as an assembly file.
std::string assembly(const std::vector<PlacedArena>& arenas);

// The harness knows its one model by the name "cormorant_linked", uses the board's memory for arenas and passes the
// state's memory to load itself. Any other name is a user's: then there is also NAME_memory.
inline constexpr const char* kLinked = "cormorant_linked";

struct Glue {
  std::string name = kLinked;  // prefix of the symbols
  std::string model_section = ".model";
  std::filesystem::path model;  // the .pte; read when the file is assembled
  std::string model_data = {};  // symbol of its bytes, if another method's glue in the same file has them; else its own
  std::string method;
  std::vector<KernelChoice> kernels;
  std::vector<PlacedArena> arenas;
  std::optional<std::uint64_t> state_bytes = {};  // unset, for the harness: whatever memory is left
  bool pushes_rows = false;                       // for the harness: its image arrives by rows
};

std::string assembly(const Glue& glue);

}  // namespace cormorant
