// SPDX-License-Identifier: Apache-2.0
//
// Runs a .pte on the emulated board of its target: links firmware with exactly this model's kernels, starts it, feeds
// it samples and returns outputs and figures. The behaviour behind `cormorant run` and `evaluate`, and behind every
// test that compares a board with the reference.
//
//   RunResult result = run_on_board({.program = bytes, .target = {&cpu, Isa::mve}, .samples = {{image}}});
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "elf/code_parts.h"
#include "elf/stack_bound.h"
#include "runner/emulator.h"
#include "runner/program_facts.h"
#include "runner/toolchain.h"
#include "target/target.h"

namespace cormorant {

// One sample: the bytes of each input (or output), in the layout that the program plans.
using Sample = std::vector<std::vector<std::byte>>;

struct RunRequest {
  std::vector<std::byte> program;  // the .pte
  std::string method = "forward";
  Target target = {};
  std::string board = {};  // empty: the one that the CPU is emulated with
  Compiler compiler = Compiler::gcc;
  std::vector<Sample> samples = {};  // all in one boot; none means one run with zeros
  std::size_t steps = 0;             // samples after which the program is reset; 0 for never
  bool profile = false;
  bool estimate_cycles = false;  // the emulation then takes about twice as long
  bool account = false;          // code by part, and the stack's bound
  // What to do with the program; the result has what is known by then.
  enum class Until : std::uint8_t { linked, loaded, executed } until = Until::executed;
  std::chrono::milliseconds time_limit{60'000};
  std::filesystem::path keep_elf = {};  // where to leave the firmware; empty for nowhere
};

struct StepProfile {
  std::string operator_name;
  std::string kernel;  // the symbol that ran it
  std::uint64_t instructions = 0;
  std::uint64_t cycles = 0;  // estimated, as all cycles are (docs/cycles.md); with the call
  // For a stage of a group of rows: the group's step, which has the remainder. With a stage counts what moves rows
  // after it.
  std::optional<std::size_t> part_of = {};
};

struct RunResult {
  std::vector<Sample> outputs;

  std::uint64_t load_instructions = 0;
  std::uint64_t execute_instructions = 0;          // of the first sample
  std::vector<std::uint64_t> sample_instructions;  // of each
  std::uint64_t load_cycles = 0, execute_cycles = 0;
  std::vector<StepProfile> steps;  // of the first sample, stages of groups after all others; with profile only

  std::uint64_t code_bytes = 0;   // flash: text, read-only data and initializers, without model and harness
  std::uint64_t model_bytes = 0;  // flash: the .pte
  std::uint64_t arena_bytes = 0;  // RAM that the program plans
  std::uint64_t state_bytes = 0;  // RAM that is neither arena nor stack: what load used, and static data
  std::uint64_t stack_bytes = 0;  // high-water mark of load and execute
  // From the linked firmware, with account only: where its code comes from, and what the stack cannot exceed.
  std::vector<CodePart> code_parts;
  std::optional<StackBound> stack_bound;
  std::string why_unbounded;

  std::vector<std::string> console;
};

// RAM that the firmware needs for its stack: the bound if known, else the observed depth.
inline std::uint64_t stack_needed(const RunResult& result) {
  return result.stack_bound ? result.stack_bound->bytes : result.stack_bytes;
}

// Throws InputError when the program, the inputs or the installation is at fault (the board's refusal to load included)
// and BoardFault when the firmware misbehaves.
RunResult run_on_board(const RunRequest& request);

// The same for bytes whose facts the caller supplies; for tests that damage programs.
RunResult run_on_board(const RunRequest& request, const ProgramFacts& facts);

}  // namespace cormorant
