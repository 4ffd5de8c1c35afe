// SPDX-License-Identifier: Apache-2.0
//
// Functions of a linked firmware, read from its instructions: how far each moves the stack pointer, what it calls at
// which depth, and which addresses it takes. It needs no help from the compiler, so the C library, libgcc and assembly
// are read like everything else.
//
// Each function is followed from its entry along every branch with what its registers are known to hold: constants,
// addresses on the stack, what was popped. Code that cannot be followed is an error, never a guess.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

#include "elf/elf.h"

namespace cormorant {

// Firmware whose stack cannot be bounded, and why: recursion, an unknown callee, a stack of varying depth.
struct StackError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct CallSite {
  std::uint32_t address = 0;
  std::uint32_t depth = 0;              // of the caller's stack at the call
  std::optional<std::uint32_t> callee;  // its entry; nothing for a call through a pointer
};

struct FunctionCode {
  std::uint32_t entry = 0;
  std::string name;         // as the linker has it
  std::uint32_t frame = 0;  // how far it moves the stack pointer itself
  std::vector<CallSite> calls;
  std::set<std::uint32_t> constants;  // words from literal pools, and pairs of MOVW and MOVT: addresses among them
};

// The stack before an instruction.
struct StackAt {
  std::uint32_t depth = 0;        // bytes below where the function found it
  bool lr_is_overwritten = true;  // the return address is, if anywhere, on the stack
};

class CallGraph {
 public:
  explicit CallGraph(const Elf& elf);

  // Reads the function on its first use. Throws StackError.
  const FunctionCode& function(std::uint32_t entry);
  // The same walk, instruction by instruction. Throws StackError.
  [[nodiscard]] std::map<std::uint32_t, StackAt> stack_in(std::uint32_t entry) const;
  [[nodiscard]] const Elf& elf() const { return elf_; }
  // The function that begins there; null when none does.
  [[nodiscard]] const ElfSymbol* starting_at(std::uint32_t address) const;

 private:
  friend class FunctionWalk;
  [[nodiscard]] std::uint32_t end_of(std::uint32_t entry) const;
  [[nodiscard]] bool is_code(std::uint32_t address) const;  // and not data between instructions
  [[nodiscard]] std::uint16_t halfword(std::uint32_t address) const;

  const Elf& elf_;
  std::map<std::uint32_t, const ElfSymbol*> starts_;
  std::map<std::uint32_t, bool> code_from_;  // the linker's marks $t and $d
  std::map<std::uint32_t, FunctionCode> functions_;
};

}  // namespace cormorant
