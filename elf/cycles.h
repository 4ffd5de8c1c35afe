// SPDX-License-Identifier: Apache-2.0
//
// Estimated cycles: what a run of instructions costs in the pipeline of one CPU, with memory without wait states.
// docs/cycles.md says where each number comes from and what is not modelled.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "elf/decode.h"

namespace cormorant::plugin {

// Which two neighbours may be issued in one cycle.
enum class Pairing : std::uint8_t {
  none,
  narrow,  // two 16-bit instructions, one of them light
  general
};

// One CPU. Costs are the cycles until the next instruction can be issued; results, the cycles until another can use
// this one's result (1: in the next cycle).
struct Cpu {
  std::string_view name;
  Pairing pairing = Pairing::none;

  std::uint8_t multiply = 1, multiply_add = 1, long_multiply = 1, long_multiply_add = 1, divide = 7;
  std::uint8_t multiply_result = 1;

  std::uint8_t load = 1, store = 1;
  bool overlaps = false;  // the second cycle of a load is hidden behind a neighbouring single load or store
  std::uint8_t load_result = 1, subword_result = 1;
  std::uint8_t address_early = 0;  // addresses, and operands of the shifter, are needed this many cycles before others
  std::uint8_t words_per_cycle = 1;  // of a list, after one cycle for the list

  // Flow: cycles on top of the instruction's own when it is taken.
  std::uint8_t branch = 0, call = 0, branch_register = 0, load_branch = 0;
  std::uint8_t system = 2;

  std::uint8_t float_multiply_add = 1, float_divide = 14, float_load = 1;
  std::uint8_t float_result = 2, float_multiply_add_result = 4;
};

// Null for an unknown name.
const Cpu* find_cpu(std::string_view name);

enum class Unit : std::uint8_t { none, memory, integer, multiply };  // of MVE
inline constexpr std::size_t kUnits = 4;

// What a run of instructions leaves to the one after it.
struct Exit {
  Registers late = 0;  // results that are not ready yet, the last of them after `late_by` more cycles
  std::uint8_t late_by = 0;
  std::uint8_t busy[kUnits] = {};  // cycles until a unit is free
  bool hidden_cycle = false;       // a load's second cycle, which an access of memory would hide
};

struct Run {
  std::uint32_t cycles = 0;
  Registers first_reads = 0;
  Unit first_unit = Unit::none;
  bool first_is_access = false;
  Kind last = Kind::alu;
  Exit exit;
};

// As if nothing came before it.
Run schedule(const Cpu& cpu, std::span<const Instruction> instructions);

// Cycles between two runs: the second's wait for the first, and a pipeline refill if the first ends in a taken branch.
// A loop's end costs nothing when the CPU remembers the loop.
std::uint32_t junction(const Cpu& cpu, const Run& before, const Run& after, bool was_taken, bool is_known_loop);

}  // namespace cormorant::plugin
