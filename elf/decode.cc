// SPDX-License-Identifier: Apache-2.0
//
// The encodings are those of the Armv8-M Architecture Reference Manual, chapter C2. Where a form cannot matter to a
// pipeline (which of sixteen additions it is), it is not distinguished.
#include "elf/decode.h"

namespace cormorant::plugin {
namespace {

constexpr unsigned kProgramCounter = 15;

constexpr unsigned bits(unsigned word, unsigned high, unsigned low) { return word >> low & ((2U << (high - low)) - 1); }
constexpr bool bit(unsigned word, unsigned index) { return (word >> index & 1U) != 0; }
constexpr Registers low(unsigned word, unsigned at) { return core(bits(word, at + 2, at)); }
constexpr unsigned count_bits(unsigned word) { return static_cast<unsigned>(__builtin_popcount(word)); }

// ---- 16 bits ----------------------------------------------------------------------------------------------------

Instruction arithmetic16(unsigned w) {
  Instruction i;
  i.writes = low(w, 0);
  if (bits(w, 15, 13) == 1) {  // MOV, CMP, ADD, SUB with eight bits
    const unsigned op = bits(w, 12, 11);
    i.writes = op == 1 ? 0 : low(w, 8);
    i.reads = op == 0 ? 0 : low(w, 8);
    i.is_light = op != 1;
    return i;
  }
  i.reads = low(w, 3);
  if (bits(w, 12, 11) != 3) {
    i.uses_shifter = bits(w, 10, 6) != 0;  // else MOVS
    i.is_light = !i.uses_shifter;
  } else if (bit(w, 10)) {
    i.is_light = true;  // ADD, SUB with three bits
  } else {
    i.reads |= low(w, 6);
  }
  return i;
}

Instruction data_processing16(unsigned w) {
  const unsigned op = bits(w, 9, 6);
  constexpr unsigned kCompares = 1U << 8 | 1U << 10 | 1U << 11, kShifts = 1U << 2 | 1U << 3 | 1U << 4 | 1U << 7;
  Instruction i;
  i.reads = low(w, 3) | (op == 9 || op == 15 ? 0 : low(w, 0));  // RSB, MVN have one operand
  i.writes = (kCompares >> op & 1) != 0 ? 0 : low(w, 0);
  i.uses_shifter = (kShifts >> op & 1) != 0;
  if (op == 13) i.kind = Kind::multiply;
  return i;
}

Instruction special16(unsigned w) {
  const unsigned op = bits(w, 9, 8), rm = bits(w, 6, 3), rd = bits(w, 2, 0) | bits(w, 7, 7) << 3;
  Instruction i;
  i.reads = core(rm);
  if (op == 3) {
    i.kind = Kind::branch_register;
    i.writes = bit(w, 7) ? core(14) : 0;
    return i;
  }
  if (op != 2) i.reads |= core(rd);
  if (op != 1) i.writes = core(rd);
  i.is_light = op == 2;
  if (i.writes == core(kProgramCounter)) i.kind = Kind::branch_register;
  return i;
}

Instruction memory16(unsigned w) {
  Instruction i;
  bool load = bit(w, 11);
  i.addresses = low(w, 3);
  Registers data = low(w, 0);
  switch (bits(w, 15, 12)) {
    case 4:  // from the literal pool
      load = true;
      i.addresses = 0;
      data = low(w, 8);
      break;
    case 5: {  // register offset: STR STRH STRB LDRSB LDR LDRH LDRB LDRSH
      const unsigned op = bits(w, 11, 9);
      load = op >= 3;
      i.addresses |= low(w, 6);
      i.is_register_offset = true;
      i.is_subword = op != 0 && op != 4;
      break;
    }
    case 7:
    case 8:
      i.is_subword = true;
      break;
    case 9:
      i.addresses = core(13);
      data = low(w, 8);
      break;
    default:
      break;
  }
  i.kind = load ? Kind::load : Kind::store;
  (load ? i.writes : i.reads) = data;
  return i;
}

Instruction list16(unsigned w, bool load, unsigned base, unsigned extra) {
  Instruction i;
  const Registers list = (w & 0xffU) | extra;
  i.kind =
      load ? ((list & core(kProgramCounter)) != 0 ? Kind::load_branch : Kind::load_multiple) : Kind::store_multiple;
  i.count = static_cast<std::uint8_t>(count_bits(list));
  i.addresses = core(base);
  (load ? i.writes : i.reads) = list;
  return i;
}

Instruction miscellaneous16(unsigned w) {
  Instruction i;
  switch (bits(w, 11, 8)) {
    case 0:  // ADD, SUB on the stack pointer
      i.reads = i.writes = core(13);
      i.is_light = true;
      return i;
    case 2:  // SXTH SXTB UXTH UXTB
      i.reads = low(w, 3);
      i.writes = low(w, 0);
      i.is_light = i.is_dsp = true;
      return i;
    case 4:
    case 5:
      return list16(w, false, 13, bit(w, 8) ? core(14) : 0);
    case 12:
    case 13:
      return list16(w, true, 13, bit(w, 8) ? core(kProgramCounter) : 0);
    case 10:  // REV and its like
      i.reads = low(w, 3);
      i.writes = low(w, 0);
      i.is_dsp = true;
      return i;
    case 15:
      i.kind = Kind::nothing;
      i.is_light = true;
      return i;
    default:
      if (bit(w, 8) && !bit(w, 10)) {  // CBZ, CBNZ
        i.kind = Kind::branch_conditional;
        i.reads = low(w, 0);
      } else {
        i.kind = Kind::system;
      }
      return i;
  }
}

Instruction decode16(unsigned w) {
  Instruction i;
  switch (bits(w, 15, 12)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return arithmetic16(w);
    case 4:
      if (!bit(w, 11)) return bit(w, 10) ? special16(w) : data_processing16(w);
      return memory16(w);
    case 5:
    case 6:
    case 7:
    case 8:
    case 9:
      return memory16(w);
    case 10:  // an address from the program counter or the stack pointer
      i.writes = low(w, 8);
      i.reads = bit(w, 11) ? core(13) : 0;
      return i;
    case 11:
      return miscellaneous16(w);
    case 12:
      return list16(w, bit(w, 11), bits(w, 10, 8), 0);
    case 13:
      i.kind = bits(w, 11, 8) >= 14 ? Kind::system : Kind::branch_conditional;
      return i;
    default:
      i.kind = Kind::branch;
      return i;
  }
}

// ---- 32 bits: the core ------------------------------------------------------------------------------------------

Instruction multiple32(unsigned a, unsigned b) {
  Instruction i = list16(0, bit(a, 4), bits(a, 3, 0), b);
  return i;
}

// LDRD, STRD, exclusive accesses, table branches.
Instruction dual32(unsigned a, unsigned b) {
  Instruction i;
  i.addresses = core(bits(a, 3, 0));
  const Registers data = core(bits(b, 15, 12));
  const bool load = bit(a, 4);
  if (bits(a, 15, 4) == 0xe8d && bits(b, 15, 5) == 0x780) {
    i.kind = Kind::table_branch;
    i.addresses |= core(bits(b, 3, 0));
    return i;
  }
  if (!bit(a, 8) && !bit(a, 5)) {  // exclusive, acquire, release: one register
    i.kind = load ? Kind::load : Kind::store;
    (load ? i.writes : i.reads) = data;
    return i;
  }
  i.kind = load ? Kind::load_double : Kind::store_double;
  i.count = 2;
  (load ? i.writes : i.reads) = data | core(bits(b, 11, 8));
  return i;
}

Instruction single32(unsigned a, unsigned b) {
  Instruction i;
  const unsigned rn = bits(a, 3, 0), rt = bits(b, 15, 12), size = bits(a, 6, 5);
  const bool load = bit(a, 4);
  if (rn != kProgramCounter) i.addresses = core(rn);
  if (!bit(a, 7) && !bit(b, 11) && rn != kProgramCounter) {
    i.addresses |= core(bits(b, 3, 0));
    i.is_register_offset = true;
  }
  i.is_subword = size != 2;
  if (load && rt == kProgramCounter) {
    i.kind = size == 2 ? Kind::load_branch : Kind::nothing;  // else a preload
    i.count = 1;
    return i;
  }
  i.kind = load ? Kind::load : Kind::store;
  (load ? i.writes : i.reads) = core(rt);
  return i;
}

// Data processing with a shifted register or a modified immediate: the same operations.
Instruction operation32(unsigned a, unsigned b, bool has_register) {
  Instruction i;
  const unsigned op = bits(a, 8, 5), rn = bits(a, 3, 0), rd = bits(b, 11, 8);
  if (rn != kProgramCounter) i.reads = core(rn);
  if (has_register) {
    i.reads |= core(bits(b, 3, 0));
    i.uses_shifter = (bits(b, 14, 12) | bits(b, 7, 6)) != 0;
  }
  if (rd != kProgramCounter) i.writes = core(rd);
  if (has_register && op == 2 && bit(a, 4) && rn != kProgramCounter && bit(b, 0)) {  // MVE's shifts of register pairs
    if (bits(b, 3, 0) == 0xf || bits(b, 3, 0) == 0xd) {
      i.reads |= i.writes;
      i.uses_shifter = true;
    }
  }
  return i;
}

Instruction plain_immediate32(unsigned a, unsigned b) {
  Instruction i;
  const unsigned op = bits(a, 8, 4), rn = bits(a, 3, 0), rd = bits(b, 11, 8);
  i.writes = core(rd);
  const bool is_move = op == 4;
  if (!is_move && rn != kProgramCounter) i.reads = core(rn);
  if (op == 12 || op == 0x16) i.reads |= core(rd);  // MOVT, BFI keep a part
  i.uses_shifter = op >= 0x10;
  i.is_dsp = op >= 0x10;
  if (op == 12) i.reads = core(rd);
  return i;
}

Instruction branches32(unsigned a, unsigned b) {
  Instruction i;
  const unsigned form = b & 0xd000U;
  if (form == 0xd000) {
    i.kind = Kind::call;
    i.writes = core(14);
  } else if (form == 0x9000) {
    i.kind = Kind::branch;
  } else if (form == 0xc000) {  // loops of ARMv8.1-M
    const unsigned rn = bits(a, 3, 0);
    if ((b & 0x2000U) == 0) {
      i.kind = rn == kProgramCounter ? Kind::loop_end : Kind::loop_start;
    } else {
      i.kind = bit(b, 11) ? Kind::vector_control : Kind::loop_start;
    }
    if (rn != kProgramCounter) i.reads = core(rn);
  } else if (bits(a, 9, 7) != 7) {
    i.kind = Kind::branch_conditional;
  } else {
    i.kind = bits(a, 15, 4) == 0xf3a ? Kind::nothing : Kind::system;
    if (bits(a, 15, 5) == 0x79f) i.writes = core(bits(b, 11, 8));  // MRS
  }
  return i;
}

Instruction register32(unsigned a, unsigned b) {
  Instruction i;
  const unsigned rn = bits(a, 3, 0);
  i.writes = core(bits(b, 11, 8));
  i.reads = core(bits(b, 3, 0));
  if (rn != kProgramCounter) i.reads |= core(rn);
  if (!bit(a, 7) && bits(b, 7, 4) == 0) {
    i.uses_shifter = true;  // a shift by a register
  } else {
    i.is_dsp = true;
    i.uses_shifter = !bit(a, 7);  // extensions rotate
  }
  return i;
}

Instruction multiply32(unsigned a, unsigned b) {
  Instruction i;
  const unsigned ra = bits(b, 15, 12);
  i.kind = ra == kProgramCounter ? Kind::multiply : Kind::multiply_add;
  i.reads = core(bits(a, 3, 0)) | core(bits(b, 3, 0)) | (ra == kProgramCounter ? 0 : core(ra));
  i.writes = core(bits(b, 11, 8));
  if (i.kind == Kind::multiply_add) i.accumulator = core(ra);
  return i;
}

Instruction long_multiply32(unsigned a, unsigned b) {
  Instruction i;
  const unsigned op = bits(a, 6, 4);
  i.reads = core(bits(a, 3, 0)) | core(bits(b, 3, 0));
  if (op == 1 || op == 3) {
    i.kind = Kind::divide;
    i.writes = core(bits(b, 11, 8));
    return i;
  }
  i.kind = op >= 4 ? Kind::long_multiply_add : Kind::long_multiply;
  i.writes = core(bits(b, 15, 12)) | core(bits(b, 11, 8));
  if (op >= 4) {
    i.reads |= i.writes;
    i.accumulator = i.writes;
  }
  return i;
}

// ---- 32 bits: floating point and MVE ----------------------------------------------------------------------------

// The vector register that contains a floating-point register: number of a single or double one.
Registers float_register(unsigned number, bool is_double) {
  return vector(bits(is_double ? number / 2 : number / 4, 2, 0));
}
Registers float_field(unsigned four, bool one, bool is_double) {
  return float_register(is_double ? four : four * 2 + (one ? 1 : 0), is_double);
}

Instruction float_memory(unsigned a, unsigned b) {
  Instruction i;
  const bool load = bit(a, 4), is_double = bits(b, 11, 8) == 0xb;
  const Registers data = float_field(bits(b, 15, 12), bit(a, 6), is_double);
  if ((a & 0xffe0U) == 0xec40) {  // VMOV between two core registers and a double one (or two single ones)
    i.kind = Kind::float_move;
    const Registers cores = core(bits(b, 15, 12)) | core(bits(a, 3, 0));
    const Registers floats = float_field(bits(b, 3, 0), bit(b, 5), is_double);
    i.reads = load ? floats : cores;
    i.writes = load ? cores : floats;
    return i;
  }
  i.addresses = core(bits(a, 3, 0));
  (load ? i.writes : i.reads) = data;
  const bool single = bit(a, 8) && !bit(a, 5) && !is_double;
  i.count = static_cast<std::uint8_t>(bit(a, 8) && !bit(a, 5) ? (is_double ? 2 : 1) : bits(b, 7, 0));
  if (single) {
    i.kind = load ? Kind::float_load : Kind::float_store;
  } else {
    i.kind = load ? Kind::float_load_multiple : Kind::float_store_multiple;
  }
  return i;
}

Instruction float_operation(unsigned a, unsigned b) {
  Instruction i;
  const bool is_double = bits(b, 11, 8) == 0xb;
  if (bit(b, 4) && bits(a, 15, 8) == 0xee) {  // to and from the core's registers, by lane too; VDUP
    const bool to_core = bit(a, 4);
    const Registers lane = is_double ? vector(bits(a, 3, 1)) : float_field(bits(a, 3, 0), bit(b, 7), false);
    const Registers general = bits(b, 15, 12) == kProgramCounter ? 0 : core(bits(b, 15, 12));
    i.kind = is_double ? (bit(a, 7) && !to_core ? Kind::vector_simple : Kind::vector_move) : Kind::float_move;
    i.reads = to_core ? lane : general;
    i.writes = to_core ? general : lane;
    return i;
  }
  const Registers d = float_field(bits(b, 15, 12), bit(a, 6), is_double);
  i.reads = float_field(bits(b, 3, 0), bit(b, 5), is_double) | float_field(bits(a, 3, 0), bit(b, 7), is_double);
  i.writes = d;
  i.kind = Kind::float_simple;
  if (bits(a, 15, 8) == 0xfe) return i;
  switch (a >> 4 & 0xbU) {
    case 0:
    case 1:
    case 9:
    case 10:
      i.kind = Kind::float_multiply_add;
      i.reads |= d;
      i.accumulator = d;
      break;
    case 2:
      i.kind = Kind::float_multiply;
      break;
    case 8:
      i.kind = Kind::float_divide;
      break;
    case 11:  // one operand
      i.reads = float_field(bits(b, 3, 0), bit(b, 5), is_double);
      if (bits(a, 3, 0) == 1 && bits(b, 7, 6) == 3) i.kind = Kind::float_divide;
      if (bits(a, 3, 1) == 2) {  // comparison
        i.reads |= d;
        i.writes = 0;
      }
      break;
    default:
      break;
  }
  return i;
}

Instruction vector_memory(unsigned a, unsigned b) {
  Instruction i;
  const bool load = bit(a, 4);
  const Registers data = vector(bits(b, 15, 13));
  if ((a & 0xffa0U) == 0xec00) {  // two lanes and two core registers
    const Registers cores = core(bits(b, 3, 0)) | core(bits(a, 3, 0));
    i.kind = Kind::vector_move;
    i.reads = load ? cores : data;
    i.writes = load ? data : cores;
    return i;
  }
  i.addresses = core(bits(a, 3, 0));
  const bool has_pair_bit = bit(b, 12);
  bool by_lane = false;
  unsigned element = bits(b, 8, 7);
  if (bit(a, 8) && bit(a, 12) && has_pair_bit) {  // addresses in a vector register
    by_lane = true;
    i.addresses = vector(bits(a, 3, 1));
    element = bit(b, 8) ? 3 : 2;
  } else if (!bit(a, 8) && !has_pair_bit && !bit(a, 5) && bit(a, 7)) {  // offsets in a vector register
    // Without the write-back bit this is a gather: contiguous accesses that are post-indexed have it.
    by_lane = true;
    i.addresses |= vector(bits(b, 3, 1));
  }
  if (!by_lane && !has_pair_bit) i.addresses = core(bits(a, 2, 0));  // widening and narrowing accesses
  i.count = static_cast<std::uint8_t>(by_lane ? 16U >> element : 0);
  i.kind =
      by_lane ? (load ? Kind::vector_gather : Kind::vector_scatter) : (load ? Kind::vector_load : Kind::vector_store);
  (load ? i.writes : i.reads) = data;
  return i;
}

// Two vector registers, or one and an immediate; three of the same size.
Instruction vector_same(unsigned a, unsigned b) {
  Instruction i;
  const unsigned op = bits(b, 11, 8);
  i.kind = Kind::vector_simple;
  i.reads = vector(bits(b, 3, 1));
  i.writes = vector(bits(b, 15, 13));
  if (bit(a, 7) && bit(b, 4)) {  // shifts by an immediate, and immediate moves
    const bool is_move = bits(a, 5, 3) == 0 && !bit(b, 7);
    if (is_move) {
      i.reads = bit(b, 8) && op < 12 ? i.writes : 0;  // VORR, VBIC
    } else if (op == 2 || op == 7 || op == 6) {       // rounding, saturating
      i.kind = Kind::vector_slow;
    } else if (op >= 12) {
      i.kind = Kind::vector_multiply;  // to and from fixed point
    }
    return i;
  }
  if (bit(a, 7) && bits(a, 5, 4) == 3) {  // one operand
    const unsigned group = bits(a, 1, 0);
    const bool is_float = group == 3 || (group == 2 && op >= 4) || (group == 1 && op == 7);
    if (is_float) i.kind = Kind::vector_multiply;
    return i;
  }
  i.reads |= vector(bits(a, 3, 1));
  if (op == 9 || op == 11 || op >= 12) {
    i.kind = Kind::vector_multiply;
    if (op == 12) i.reads |= i.writes;  // VFMA
  } else if ((op == 4 && bit(b, 4)) || op == 5) {
    i.kind = Kind::vector_slow;  // VQSHL, VRSHL, VQRSHL
  }
  return i;
}

// Sums and extremes over lanes, narrowing and widening.
Instruction vector_across(unsigned a, unsigned b) {
  Instruction i;
  const Registers qd = vector(bits(b, 15, 13)), qn = vector(bits(a, 3, 1)), qm = vector(bits(b, 3, 1));
  const bool is_f = bit(b, 8);
  if (bit(b, 6)) {
    const bool narrows = !bit(a, 5);  // into one half of the result, whose other half stays
    i.kind = narrows ? Kind::vector_slow : Kind::vector_simple;
    i.reads = qm | (narrows ? qd : 0);
    i.writes = qd;
    return i;
  }
  const Registers sum = core(bits(b, 15, 13) * 2);
  const bool is_extreme = bits(a, 7, 4) == 14;   // VMAXV, VMINV
  const bool is_difference = is_f && bit(b, 0);  // VABAV
  const bool is_pair = bits(a, 6, 4) != 7 && !is_extreme && !is_difference;
  i.kind = is_extreme || is_difference ? Kind::vector_slow : Kind::vector_multiply;
  i.writes = sum | (is_pair ? core(bits(a, 6, 4) * 2 + 1) : 0);
  const bool is_one_operand = is_extreme || (is_f && bits(a, 0, 0) == 1 && !is_difference && !is_pair) ||
                              (is_f && is_pair && bits(a, 3, 0) == 9);  // VADDV, VADDLV
  i.reads = qm | (is_one_operand ? 0 : qn);
  if (bit(b, 5) || is_extreme || is_difference) i.reads |= i.writes;  // goes on from a sum
  return i;
}

// The rest: with a core register as the last operand, comparison, predication.
Instruction vector_other(unsigned a, unsigned b) {
  Instruction i;
  const Registers qd = vector(bits(b, 15, 13)), qn = vector(bits(a, 3, 1)), qm = vector(bits(b, 3, 1));
  const bool is_f = bit(b, 8), is_second = bit(a, 12), with_core = bit(b, 6);
  const bool no_size = bits(a, 5, 4) == 3;  // where others have the size of their elements
  if (is_second && bits(b, 7, 0) == 0x4d && is_f) {
    i.kind = Kind::vector_control;  // VPST, VPNOT
    return i;
  }
  const Registers last = with_core ? core(bits(b, 3, 0)) : qm;
  i.reads = qn | last;
  i.writes = qd;
  i.kind = Kind::vector_simple;
  if (is_f) {
    const bool selects = is_second && no_size && !bit(b, 12) && bit(b, 0);  // VPSEL
    const bool compares = bit(a, 0) && !selects && is_second != no_size;
    const bool counts = bit(a, 0) && with_core && bit(b, 5);  // VIDUP and its like
    if (compares) {
      i.kind = Kind::vector_multiply;
      i.writes = 0;
    } else if (counts) {
      const Registers start = core(bits(a, 3, 1) * 2);
      i.reads = start;
      i.writes = qd | start;
    } else if (no_size && !selects) {
      i.kind = with_core || bit(b, 0) ? Kind::vector_multiply : Kind::vector_slow;  // float, VQDMULL; VADC, VSBC
    }
    return i;
  }
  if (no_size && bit(a, 0) && !with_core && bit(b, 0)) {  // VMOVN, VQMOVN, VMAXA
    i.kind = Kind::vector_slow;
    i.reads = qm | qd;
  } else if (no_size && bit(a, 0) && with_core && bit(b, 12)) {  // shifts by a core register
    i.kind = bit(b, 7) || bit(a, 1) ? Kind::vector_slow : Kind::vector_simple;
    i.reads = last | qd;
  } else if (!(is_second && bit(a, 0) && with_core && bit(b, 12))) {  // but VBRSR
    i.kind = Kind::vector_multiply;
    if (with_core && (!bit(b, 5) || !bit(a, 0))) i.reads |= qd;  // accumulates
  }
  return i;
}

}  // namespace

Instruction decode(std::uint16_t first, std::uint16_t second) {
  const unsigned a = first, b = second;
  if (!is_wide(first)) return decode16(a);
  Instruction i;
  const unsigned cp = bits(b, 11, 8);
  if ((a & 0xec00U) == 0xec00) {
    const bool is_float = cp >= 9 && cp <= 11;
    if (!bit(a, 9)) {
      i = cp >= 14 ? vector_memory(a, b) : is_float ? float_memory(a, b) : vector_same(a, b);
      if (cp == 8) i.kind = Kind::vector_multiply;  // VCADD, VCMLA
    } else if (bit(a, 8)) {
      i = vector_same(a, b);
    } else {
      i = is_float ? float_operation(a, b) : bit(a, 7) ? vector_across(a, b) : vector_other(a, b);
    }
  } else if ((a & 0xfe40U) == 0xe800) {
    i = multiple32(a, b);
  } else if ((a & 0xfe40U) == 0xe840) {
    i = dual32(a, b);
  } else if ((a & 0xfe00U) == 0xea00) {
    i = operation32(a, b, true);
  } else if ((a & 0xf800U) == 0xf000) {
    i = bit(b, 15) ? branches32(a, b) : bit(a, 9) ? plain_immediate32(a, b) : operation32(a, b, false);
  } else if ((a & 0xfe00U) == 0xf800) {
    i = single32(a, b);
  } else if ((a & 0xff00U) == 0xfa00) {
    i = register32(a, b);
  } else if ((a & 0xff80U) == 0xfb00) {
    i = multiply32(a, b);
  } else {
    i = long_multiply32(a, b);
  }
  i.is_wide = true;
  return i;
}

}  // namespace cormorant::plugin
