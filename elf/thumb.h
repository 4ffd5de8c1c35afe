// SPDX-License-Identifier: Apache-2.0
//
// What a Thumb instruction does to the flow of control and to the stack pointer, and as much about the registers as is
// needed to follow both: constants, addresses on the stack, what was popped. From ARMv6-M to ARMv8.1-M with MVE.
#pragma once

#include <cstdint>

namespace cormorant {

enum class Flow : std::uint8_t {
  next,
  branch,              // to `target`
  branch_conditional,  // to `target` or the next one
  call,                // of `target`
  call_register,       // BLX
  jump_register,       // BX, MOV pc: a return, a call at the end of a function, or a jump by a table
  jump_table,          // TBB, TBH, ADD pc, LDR pc
  function_return,     // POP {…, pc}, BX lr
  stop,                // UDF
};

enum class Effect : std::uint8_t {
  none,
  constant,            // rd = value
  constant_top,        // the upper half of rd = value
  literal,             // rd = the word at `target`
  add,                 // rd = rn + value
  add_registers,       // rd = rn + rm
  subtract_registers,  // rd = rn - rm
  negate,              // rd = -rn
  shift_left,          // rd = rn << value
  select,              // rd = rn or rm
  align,               // rd = rn with the bits of `value` cleared
};

struct ThumbInstruction {
  std::uint32_t bytes = 2;
  Flow flow = Flow::next;
  Effect effect = Effect::none;
  std::uint8_t rd = 0, rn = 0, rm = 0;  // for the effect; rm also for the register that is called or jumped to
  std::uint32_t target = 0;             // of a branch or call, or a literal's address
  std::int32_t value = 0;
  std::int32_t pushed = 0;    // by how many bytes the stack grows, negative: shrinks
  std::uint32_t popped = 0;   // registers that were loaded from the stack, as bits
  std::uint32_t written = 0;  // registers that change, as bits; without the stack pointer if covered above
  // IT: how many instructions follow under a condition, and as bits which of them under its opposite.
  std::uint32_t conditional = 0, otherwise = 0;
};

// `second` is ignored for a 16-bit instruction.
ThumbInstruction decode_thumb(std::uint32_t address, std::uint16_t first, std::uint16_t second);

}  // namespace cormorant
