// SPDX-License-Identifier: Apache-2.0
//
// A Thumb instruction as a pipeline sees it: which unit executes it, which registers it waits for and which it makes
// others wait for. Nothing about what it computes, so a few dozen kinds cover ARMv6-M to ARMv8.1-M with MVE.
#pragma once

#include <cstdint>

namespace cormorant::plugin {

enum class Kind : std::uint8_t {
  // The core's own.
  alu,  // also bit fields, saturation, packing and the parallel additions of the DSP extension
  multiply,
  multiply_add,  // and the dual multiplications of the DSP extension with accumulation
  long_multiply,
  long_multiply_add,
  divide,
  load,
  load_double,
  load_multiple,
  store,
  store_double,
  store_multiple,
  system,   // special registers, barriers
  nothing,  // hints, IT
  // Changes of the flow.
  branch,              // B, taken always
  branch_conditional,  // B<cond>, CBZ, CBNZ
  call,                // BL
  branch_register,     // BX, BLX, and other writes to the program counter
  load_branch,         // POP {…, pc}, LDR pc
  table_branch,
  loop_start,  // DLS, WLS and their tail-predicated forms
  loop_end,    // LE, LETP
  // Floating point.
  float_simple,  // add, subtract, compare, convert, absolute value…
  float_multiply,
  float_multiply_add,
  float_divide,  // and square root
  float_move,    // between the register files
  float_load,
  float_load_multiple,  // and double
  float_store,
  float_store_multiple,
  // MVE.
  vector_simple,    // the integer pipeline
  vector_slow,      // the same with a late result: rounding and saturating shifts, reductions
  vector_multiply,  // the pipeline of multiplication and floating point
  vector_move,      // between the register files
  vector_load,
  vector_store,
  vector_gather,
  vector_scatter,
  vector_control,  // VPST, VCTP and the like
};

constexpr bool is_load(Kind kind) { return kind >= Kind::load && kind <= Kind::load_multiple; }
constexpr bool is_store(Kind kind) { return kind >= Kind::store && kind <= Kind::store_multiple; }
constexpr bool is_vector(Kind kind) { return kind >= Kind::vector_simple; }

// Registers as bits: 0 … 15 of the core, 16 … 23 the vector registers, which contain the floating-point registers.
using Registers = std::uint32_t;
constexpr Registers core(unsigned number) { return 1U << number; }
constexpr Registers vector(unsigned number) { return 1U << (16 + number); }

struct Instruction {
  Kind kind = Kind::alu;
  std::uint8_t count = 0;  // registers of a list, lanes of a gather
  bool is_wide = false;    // 32 bits
  bool is_light = false;  // of the 16-bit instructions that may be a pair's second: short immediates, moves, extensions
  bool uses_shifter = false;  // an operand passes through the shifter
  bool is_dsp = false;        // parallel arithmetic, saturation, extension: one of these at a time
  bool is_subword = false;    // a load of a byte or halfword
  bool is_register_offset = false;
  Registers reads = 0;        // operands, without those for addresses
  Registers accumulator = 0;  // of these, the one that a product is added to
  Registers addresses = 0;    // operands that form an address
  Registers writes = 0;       // results, without updated addresses
};

// `second` is ignored for a 16-bit instruction.
Instruction decode(std::uint16_t first, std::uint16_t second);

// Whether an instruction that begins like this has a second halfword.
constexpr bool is_wide(std::uint16_t first) { return first >> 11U >= 0x1d; }

}  // namespace cormorant::plugin
