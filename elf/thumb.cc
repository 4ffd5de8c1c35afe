// SPDX-License-Identifier: Apache-2.0
//
// The encodings are those of the Armv8-M Architecture Reference Manual, chapter C2. Which registers an instruction
// writes is known to the decoder of the cycle estimate; this is what that one has no use for: immediates, targets and
// the stack pointer.
#include "elf/thumb.h"

#include <bit>

#include "elf/decode.h"

namespace cormorant {
namespace {

constexpr std::uint8_t kSp = 13, kLr = 14, kPc = 15;

constexpr std::uint32_t bits(std::uint32_t word, unsigned high, unsigned low) {
  return word >> low & ((2U << (high - low)) - 1);
}
constexpr bool bit(std::uint32_t word, unsigned index) { return (word >> index & 1U) != 0; }
constexpr std::uint8_t reg(std::uint32_t word, unsigned high, unsigned low) {
  return static_cast<std::uint8_t>(bits(word, high, low));
}
constexpr std::int32_t sign_extend(std::uint32_t value, unsigned width) {
  const std::uint32_t sign = 1U << (width - 1);
  return static_cast<std::int32_t>((value ^ sign) - sign);
}
constexpr std::int32_t words(std::uint32_t count) { return static_cast<std::int32_t>(4 * count); }
constexpr std::uint32_t at(std::uint32_t address, std::int32_t offset) {
  return address + 4 + static_cast<std::uint32_t>(offset);
}

void pop_list(ThumbInstruction& i, std::uint32_t list) {
  i.pushed = -words(static_cast<std::uint32_t>(std::popcount(list)));
  i.popped = list;
  if (bit(list, kPc)) i.flow = Flow::function_return;
}

void set(ThumbInstruction& i, Effect effect, std::uint8_t rd, std::uint8_t rn, std::int32_t value) {
  i.effect = effect;
  i.rd = rd;
  i.rn = rn;
  i.value = value;
}

// MOV, ADD with any register, BX, BLX.
void special16(ThumbInstruction& i, std::uint32_t w) {
  const std::uint8_t rm = reg(w, 6, 3), rd = static_cast<std::uint8_t>(bits(w, 2, 0) | bits(w, 7, 7) << 3);
  i.rm = rm;
  switch (bits(w, 9, 8)) {
    case 0:
      if (rd == kPc) i.flow = Flow::jump_table;
      set(i, Effect::add_registers, rd, rd, 0);
      break;
    case 2:
      if (rd == kPc) i.flow = Flow::jump_register;
      set(i, Effect::add, rd, rm, 0);
      break;
    case 3:
      i.flow = bit(w, 7) ? Flow::call_register : rm == kLr ? Flow::function_return : Flow::jump_register;
      break;
    default:
      break;
  }
}

void miscellaneous16(ThumbInstruction& i, std::uint32_t address, std::uint32_t w) {
  if (bits(w, 11, 8) == 0) {
    i.pushed = bit(w, 7) ? words(bits(w, 6, 0)) : -words(bits(w, 6, 0));
  } else if (bits(w, 11, 9) == 2) {
    i.pushed = words(static_cast<std::uint32_t>(std::popcount(w & 0x1ffU)));
  } else if (bits(w, 11, 9) == 6) {
    pop_list(i, (w & 0xffU) | bits(w, 8, 8) << kPc);
  } else if ((w & 0xf500U) == 0xb100) {
    i.flow = Flow::branch_conditional;
    i.target = at(address, static_cast<std::int32_t>(bits(w, 9, 9) << 6 | bits(w, 7, 3) << 1));
  } else if (bits(w, 11, 8) == 15 && bits(w, 3, 0) != 0) {
    i.conditional = 4 - static_cast<std::uint32_t>(std::countr_zero(bits(w, 3, 0)));
    for (unsigned n = 1; n < i.conditional; ++n) {
      if (bit(w, 4 - n) != bit(w, 4)) i.otherwise |= 1U << n;
    }
  }
}

void decode16(ThumbInstruction& i, std::uint32_t address, std::uint32_t w) {
  const std::uint8_t low_rd = reg(w, 2, 0), mid_rd = reg(w, 10, 8), low_rn = reg(w, 5, 3);
  if (bits(w, 15, 11) == 0) set(i, Effect::shift_left, low_rd, low_rn, static_cast<std::int32_t>(bits(w, 10, 6)));
  if (bits(w, 15, 10) == 7) {  // ADD, SUB with three bits
    const auto value = static_cast<std::int32_t>(bits(w, 8, 6));
    set(i, Effect::add, low_rd, low_rn, bit(w, 9) ? -value : value);
  }
  if (bits(w, 15, 13) == 1) {  // MOV, CMP, ADD, SUB with eight bits
    const auto value = static_cast<std::int32_t>(bits(w, 7, 0));
    if (bits(w, 12, 11) == 0) set(i, Effect::constant, mid_rd, 0, value);
    if (bits(w, 12, 11) == 2) set(i, Effect::add, mid_rd, mid_rd, value);
    if (bits(w, 12, 11) == 3) set(i, Effect::add, mid_rd, mid_rd, -value);
  }
  if (bits(w, 15, 6) == 0x109) set(i, Effect::negate, low_rd, low_rn, 0);
  if (bits(w, 15, 10) == 0x11) special16(i, w);
  if (bits(w, 15, 11) == 9) {
    set(i, Effect::literal, mid_rd, 0, 0);
    i.target = at(address & ~3U, words(bits(w, 7, 0)));
  }
  if (bits(w, 15, 11) == 0x15) set(i, Effect::add, mid_rd, kSp, words(bits(w, 7, 0)));
  if (bits(w, 15, 12) == 12) i.written |= 1U << bits(w, 10, 8);  // LDM, STM
  if (bits(w, 15, 12) == 11) miscellaneous16(i, address, w);
  if (bits(w, 15, 12) == 13) {
    if (bits(w, 11, 8) == 14) i.flow = Flow::stop;
    if (bits(w, 11, 8) < 14) {
      i.flow = Flow::branch_conditional;
      i.target = at(address, 2 * sign_extend(bits(w, 7, 0), 8));
    }
  }
  if (bits(w, 15, 11) == 0x1c) {
    i.flow = Flow::branch;
    i.target = at(address, 2 * sign_extend(bits(w, 10, 0), 11));
  }
}

std::int32_t modified_immediate(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t code = bits(a, 10, 10) << 11 | bits(b, 14, 12) << 8 | bits(b, 7, 0), byte = code & 0xffU;
  switch (code >> 8) {
    case 0:
      return static_cast<std::int32_t>(byte);
    case 1:
      return static_cast<std::int32_t>(byte << 16 | byte);
    case 2:
      return static_cast<std::int32_t>(byte << 24 | byte << 8);
    case 3:
      return static_cast<std::int32_t>(byte * 0x01010101U);
    default:
      return static_cast<std::int32_t>(std::rotr(0x80U | (code & 0x7fU), static_cast<int>(code >> 7)));
  }
}

void immediate32(ThumbInstruction& i, std::uint32_t a, std::uint32_t b) {
  const std::uint8_t rd = reg(b, 11, 8), rn = reg(a, 3, 0);
  const std::int32_t value = modified_immediate(a, b);
  if (bit(a, 9)) {  // plain: ADDW, MOVW, SUBW, MOVT, BFC
    const std::uint32_t plain = bits(a, 10, 10) << 11 | bits(b, 14, 12) << 8 | bits(b, 7, 0);
    const auto signed_plain = static_cast<std::int32_t>(plain);
    const auto half = static_cast<std::int32_t>(bits(a, 3, 0) << 12 | plain);
    switch (bits(a, 8, 4)) {
      case 0:
        return set(i, Effect::add, rd, rn, signed_plain);
      case 4:
        return set(i, Effect::constant, rd, 0, half);
      case 10:
        return set(i, Effect::add, rd, rn, -signed_plain);
      case 12:
        return set(i, Effect::constant_top, rd, rd, half);
      case 22:
        if (rn == kPc && bits(b, 14, 12) == 0 && bits(b, 7, 6) == 0) {
          return set(i, Effect::align, rd, rd, static_cast<std::int32_t>((2U << bits(b, 4, 0)) - 1));
        }
        return;
      default:
        return;
    }
  }
  switch (bits(a, 8, 5)) {
    case 1:
      return set(i, Effect::align, rd, rn, value);
    case 2:
      if (rn == kPc) set(i, Effect::constant, rd, 0, value);
      return;
    case 3:
      if (rn == kPc) set(i, Effect::constant, rd, 0, ~value);
      return;
    case 8:
      if (rd != kPc) set(i, Effect::add, rd, rn, value);
      return;
    case 13:
      if (rd != kPc) set(i, Effect::add, rd, rn, static_cast<std::int32_t>(0U - static_cast<std::uint32_t>(value)));
      return;
    default:
      return;
  }
}

void branch32(ThumbInstruction& i, std::uint32_t address, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t form = b & 0xd000U;
  const std::uint32_t s = bits(a, 10, 10), j1 = bits(b, 13, 13), j2 = bits(b, 11, 11);
  if (form == 0xd000 || form == 0x9000) {
    const std::uint32_t far = s << 23 | (1 ^ j1 ^ s) << 22 | (1 ^ j2 ^ s) << 21 | bits(a, 9, 0) << 11 | bits(b, 10, 0);
    i.target = at(address, 2 * sign_extend(far, 24));
    i.flow = form == 0xd000 ? Flow::call : Flow::branch;
  } else if (form == 0xc000 && !bit(b, 13)) {  // WLS forward, LE back; DLS goes nowhere
    const auto offset = static_cast<std::int32_t>(bits(b, 10, 1) << 2 | bits(b, 11, 11) << 1);
    i.target = at(address, bits(a, 3, 0) == kPc ? -offset : offset);
    i.flow = Flow::branch_conditional;
  } else if (form == 0x8000 && bits(a, 9, 7) != 7) {
    const std::uint32_t near = s << 19 | j2 << 18 | j1 << 17 | bits(a, 5, 0) << 11 | bits(b, 10, 0);
    i.target = at(address, 2 * sign_extend(near, 20));
    i.flow = Flow::branch_conditional;
  } else if (bits(a, 15, 4) == 0xf7f && bits(b, 15, 12) == 10) {
    i.flow = Flow::stop;
  }
}

// A base register that moves by an immediate: before the access or after it.
void write_back(ThumbInstruction& i, std::uint32_t base, std::int32_t by) {
  if (base == kSp) {
    i.pushed = -by;
  } else {
    i.written |= 1U << base;
  }
}

// LDR, STR of one register.
void single32(ThumbInstruction& i, std::uint32_t address, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t base = bits(a, 3, 0), rt = bits(b, 15, 12);
  const bool load = bit(a, 4), is_word = bits(a, 8, 8) == 0 && bits(a, 6, 5) == 2;
  if (base == kPc) {
    const auto offset = static_cast<std::int32_t>(bits(b, 11, 0));
    if (load && is_word) set(i, Effect::literal, static_cast<std::uint8_t>(rt), 0, 0);
    i.target = at(address & ~3U, bit(a, 7) ? offset : -offset);
  } else if (!bit(a, 7) && bit(b, 11) && bit(b, 8)) {
    const auto offset = static_cast<std::int32_t>(bits(b, 7, 0));
    write_back(i, base, bit(b, 9) ? offset : -offset);
    if (load && base == kSp) i.popped = 1U << rt;
  }
  if (load && is_word && rt == kPc) i.flow = i.popped != 0 ? Flow::function_return : Flow::jump_table;
}

// LDM, STM, LDRD, STRD, TBB, TBH and data processing between registers.
void register32(ThumbInstruction& i, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t base = bits(a, 3, 0);
  if (bits(a, 15, 9) == 0x74) {
    if (!bit(a, 6)) {  // LDM, STM
      const std::int32_t size = words(static_cast<std::uint32_t>(std::popcount(b)));
      if (bit(a, 5)) write_back(i, base, bit(a, 7) ? size : -size);
      if (!bit(a, 4)) return;
      if (base == kSp && bit(a, 5)) i.popped = b;
      if (bit(b, kPc)) i.flow = i.popped != 0 ? Flow::function_return : Flow::jump_table;
    } else if (bits(a, 15, 4) == 0xe8d && bits(b, 15, 5) == 0x780) {
      i.flow = Flow::jump_table;
    } else if (bit(a, 5)) {  // LDRD, STRD
      const std::int32_t size = words(bits(b, 7, 0));
      write_back(i, base, bit(a, 7) ? size : -size);
    }
    return;
  }
  if (bits(a, 15, 4) == 0xea5 && bits(b, 15, 12) == 8) {  // CSEL
    i.rm = reg(b, 3, 0);
    return set(i, Effect::select, reg(b, 11, 8), reg(a, 3, 0), 0);
  }
  if (bits(a, 15, 9) != 0x75 || bits(b, 14, 12) != 0 || bits(b, 7, 4) != 0) return;  // shifted operands say nothing
  const std::uint8_t rd = reg(b, 11, 8), rn = reg(a, 3, 0);
  if (rd == kPc) return;
  i.rm = reg(b, 3, 0);
  if (bits(a, 8, 5) == 8) set(i, Effect::add_registers, rd, rn, 0);
  if (bits(a, 8, 5) == 13) set(i, Effect::subtract_registers, rd, rn, 0);
  if (bits(a, 8, 5) == 2 && rn == kPc) set(i, Effect::add, rd, i.rm, 0);  // MOV
}

// Loads and stores of the floating-point unit and of MVE whose base register moves.
void float_memory32(ThumbInstruction& i, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t base = bits(a, 3, 0);
  const bool up = bit(a, 7);
  if (!bit(a, 5)) return;
  std::int32_t offset = 0;
  if (bits(b, 11, 9) == 5) {  // VLDM, VSTM: VPUSH and VPOP among them
    offset = words(bits(b, 7, 0));
  } else if (bits(b, 12, 9) == 15) {  // MVE, contiguous
    offset = static_cast<std::int32_t>(bits(b, 6, 0) << bits(b, 8, 7));
  } else {
    return;
  }
  write_back(i, base, up ? offset : -offset);
}

void decode32(ThumbInstruction& i, std::uint32_t address, std::uint32_t a, std::uint32_t b) {
  i.bytes = 4;
  if (bits(a, 15, 11) == 0x1e) {
    if (bit(b, 15)) {
      branch32(i, address, a, b);
    } else {
      immediate32(i, a, b);
    }
  } else if (bits(a, 15, 9) == 0x7c) {
    single32(i, address, a, b);
  } else if (bits(a, 15, 9) == 0x76 && bits(a, 8, 5) != 2) {  // not VMOV of two registers
    float_memory32(i, a, b);
  } else {
    register32(i, a, b);
  }
}

}  // namespace

ThumbInstruction decode_thumb(std::uint32_t address, std::uint16_t first, std::uint16_t second) {
  ThumbInstruction i;
  i.written = plugin::decode(first, second).writes & 0xffffU;
  if (plugin::is_wide(first)) {
    decode32(i, address, first, second);
  } else {
    decode16(i, address, first);
  }
  return i;
}

}  // namespace cormorant
