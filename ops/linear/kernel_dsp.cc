// SPDX-License-Identifier: Apache-2.0
//
// SMLAD multiplies two 16-bit pairs. SXTB16 spreads bytes 0 and 2 (after a rotation: 1 and 3) of a word to such pairs,
// for inputs and weights alike, so nothing is repacked. In the pairs layout a weight word needs one SXTB16 for four
// products instead of two: unchanged it is A + 256 · B for two features, sign-extended it is A alone.
#include <arm_acle.h>

#include <bit>
#include <cstddef>
#include <cstring>

#include "base/fixed_point.h"
#include "kernels/conv_clamp_dsp.h"
#include "kernels/frame.h"
#include "kernels/linear_requantize.h"
#include "kernels/products_dsp.h"
#include "ops/linear/kernel.h"

namespace cormorant::ops::linear {
namespace {

inline std::uint32_t load_word(const std::int8_t* from) {
  std::uint32_t word;
  std::memcpy(&word, from, sizeof(word));  // inputs may be unaligned, which LDR allows
  return word;
}

// Bytes 0 and 2, and bytes 1 and 3 of a word, as pairs.
inline std::int32_t even_bytes(std::uint32_t word) { return __sxtb16(static_cast<std::int32_t>(word)); }
inline std::int32_t odd_bytes(std::uint32_t word) { return __sxtb16(static_cast<std::int32_t>(std::rotr(word, 8))); }

// What follows a sum, except for a clamp tighter than int8, which the whole output gets at once. A copy of the header's
// fields, for registers: a byte store could change the header.
struct Finish {
  std::int32_t offset;
  std::uint32_t part;
  bool simple;

  explicit Finish(const PackedHeader& h)
      : offset(h.output_offset), part(h.part), simple((h.flags & kSimpleRequantize) != 0) {}
  [[nodiscard]] std::int8_t operator()(std::int32_t sum, std::int32_t multiplier, std::int32_t shift) const {
    std::int32_t scaled;
    if (simple) {
      asm("smmulr %0, %1, %2" : "=r"(scaled) : "r"(sum * 2), "r"(multiplier));
      scaled = simple_rounding_shift(scaled, shift);
    } else {
      scaled = requantize(sum, multiplier, shift);
    }
    return static_cast<std::int8_t>(clamp(scaled + offset, -128, 127));
  }
};

// Four features under kSimpleRequantize: sums and their initial values, then multipliers followed by four shifts.
// Adding 2 · offset + 1 before the last halving rounds and adds the offset. Saturates, but does not clamp further.
// Stage by stage, because M7 computes two things at a time.
// clang-format off
[[gnu::naked, gnu::noinline]] void put_results(const std::int32_t* /*sums: r0*/, const std::int32_t* /*begin: r1*/,
                                               const std::int32_t* /*multipliers: r2*/, std::int8_t* /*out: r3*/,
                                               std::int32_t /*2 · offset + 1: on the stack*/) {
  asm volatile(CORMORANT_PUSH_R4_R11_LR
               "ldmia r0, {r4-r7}\n\t"
               "ldmia r1, {r8-r11}\n\t"
               "add r4, r4, r8\n\t"
               "add r5, r5, r9\n\t"
               "add r6, r6, r10\n\t"
               "add r7, r7, r11\n\t"
               "ldmia r2!, {r8-r11}\n\t"
               "ldr r2, [r2]\n\t"
               "ldr r12, [sp, #36]\n\t"
               "add r4, r4, r4\n\t"
               "add r5, r5, r5\n\t"
               "mvn r2, r2\n\t"
               "smmulr r4, r4, r8\n\t"
               "add r6, r6, r6\n\t"
               "smmulr r5, r5, r9\n\t"
               "add r7, r7, r7\n\t"
               "smmulr r6, r6, r10\n\t"
               "lsr r8, r2, #8\n\t"
               "smmulr r7, r7, r11\n\t"
               "add r4, r4, r4, asr #31\n\t"
               "lsr r9, r2, #16\n\t"
               "add r5, r5, r5, asr #31\n\t"
               "asr r4, r4, r2\n\t"
               "add r6, r6, r6, asr #31\n\t"
               "add r4, r4, r12\n\t"
               "asr r5, r5, r8\n\t"
               "add r7, r7, r7, asr #31\n\t"
               "add r5, r5, r12\n\t"
               "lsr r10, r2, #24\n\t"
               "asr r6, r6, r9\n\t"
               "ssat r4, #8, r4, asr #1\n\t"
               "add r6, r6, r12\n\t"
               "asr r7, r7, r10\n\t"
               "strb r4, [r3]\n\t"
               "ssat r5, #8, r5, asr #1\n\t"
               "add r7, r7, r12\n\t"
               "strb r5, [r3, #1]\n\t"
               "ssat r6, #8, r6, asr #1\n\t"
               "strb r6, [r3, #2]\n\t"
               "ssat r7, #8, r7, asr #1\n\t"
               "strb r7, [r3, #3]\n\t"
               "pop {r4-r11, pc}");
}
// clang-format on

// A row of input: whole words of four, and the rest as a word padded with zeros.
struct Row {
  const std::int8_t* x;
  std::uint32_t words;
  std::uint32_t rest;  // how many elements that is
  std::uint32_t rest_word;
};

inline Row row_of(const std::int8_t* x, std::uint32_t inputs) {
  Row row{x, inputs / 4, inputs % 4, 0};
  for (std::uint32_t i = 0; i < row.rest; ++i) {
    row.rest_word |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(x[row.words * 4 + i])) << (8 * i);
  }
  return row;
}

// How a group's weights are arranged, and what its sums then mean.
struct Pairs {
  static void accumulate(DspProducts& group) { cormorant_products_pairs_dsp(&group); }
  static void separate(std::int32_t (&sums)[4]) {
    sums[1] = (sums[1] - sums[0]) >> 8;
    sums[3] = (sums[3] - sums[2]) >> 8;
  }
};
struct Wide {
  static void accumulate(DspProducts& group) { cormorant_products_wide_dsp(&group); }
  static void separate(std::int32_t (& /*sums*/)[4]) {}
};

// The parts of a group before the last one, each with sums that can be separated; leaves the last one's blocks.
[[gnu::noinline, gnu::cold]] void run_parts(DspProducts& group, std::uint32_t part, std::int32_t (&totals)[4]) {
  const std::uint32_t blocks = group.blocks;
  std::uint32_t done = 0;
  for (; blocks - done > part; done += part) {
    group.blocks = part;
    Pairs::accumulate(group);
    Pairs::separate(group.sums);
    for (std::uint32_t n = 0; n < 4; ++n) {
      totals[n] += group.sums[n];
      group.sums[n] = 0;
    }
  }
  group.blocks = blocks - done;
}

template <class Weights>
inline const std::uint32_t* run_group(const Finish& finish, const std::uint32_t* record, const Row& row,
                                      std::int8_t* out) {
  const auto* bias = reinterpret_cast<const std::int32_t*>(record);
  DspProducts group{{0, 0, 0, 0}, row.x, record + 4, row.words};
  const std::int32_t* begin = bias;  // of the sums
  std::int32_t totals[4];
  if (finish.part != 0) {
    for (std::uint32_t n = 0; n < 4; ++n) totals[n] = bias[n];
    run_parts(group, finish.part, totals);
    begin = totals;
  }
  if (row.words != 0) Weights::accumulate(group);
  if (row.rest != 0) {
    group.x = reinterpret_cast<const std::int8_t*>(&row.rest_word);
    group.blocks = 1;
    Weights::accumulate(group);
  }
  Weights::separate(group.sums);
  record = group.weights;
  const auto* multiplier = reinterpret_cast<const std::int32_t*>(record);
  if (finish.simple) {
    put_results(group.sums, begin, multiplier, out, 2 * finish.offset + 1);
  } else {
    const auto* shift = reinterpret_cast<const std::int8_t*>(record + 4);
#pragma GCC unroll 1
    for (std::uint32_t n = 0; n < 4; ++n) {
      const std::int32_t level = requantize(group.sums[n] + begin[n], multiplier[n], shift[n]) + finish.offset;
      out[n] = static_cast<std::int8_t>(clamp(level, -128, 127));
    }
  }
  return record + 5;
}

// One feature whose weights are in a row.
inline const std::uint32_t* run_single(const Finish& finish, const std::uint32_t* record, const Row& row,
                                       std::int8_t* out) {
  auto sum = static_cast<std::int32_t>(*record++);
  const auto step = [&](std::uint32_t x, std::uint32_t w) {
    sum = __smlad(even_bytes(x), even_bytes(w), sum);
    sum = __smlad(odd_bytes(x), odd_bytes(w), sum);
  };
  const std::int8_t* x = row.x;
  for (std::uint32_t i = row.words; i > 0; --i, x += 4) step(load_word(x), *record++);
  if (row.rest != 0) step(row.rest_word, *record++);
  *out = finish(sum, static_cast<std::int32_t>(record[0]), static_cast<std::int8_t>(record[1]));
  return record + 2;
}

template <class Weights>
inline void run_packed(const PackedPlan& p, std::uint32_t groups) {
  const Finish finish(p.header());
  const std::uint32_t inputs = p.header().inputs;
  const std::uint32_t singles = p.header().outputs - 4 * groups;
  const std::int8_t* x = p.input;
  std::int8_t* out = p.out;
  for (std::uint32_t r = 0; r < p.rows; ++r, x += inputs) {
    const Row row = row_of(x, inputs);
    const auto* record = reinterpret_cast<const std::uint32_t*>(p.packed + sizeof(PackedHeader));
    for (std::uint32_t group = groups; group > 0; --group, out += 4)
      record = run_group<Weights>(finish, record, row, out);
    for (std::uint32_t single = singles; single > 0; --single, ++out) {
      record = run_single(finish, record, row, out);
    }
  }
  conv::clamp_bytes_dsp(p.out, static_cast<std::uint32_t>(out - p.out), p.header().activation_min,
                        p.header().activation_max);
}

template <class Weights>
void execute_groups(const void* plan) {
  const auto& p = *static_cast<const PackedPlan*>(plan);
  run_packed<Weights>(p, p.header().outputs / 4);
}

void execute_rows(const void* plan) { run_packed<Pairs>(*static_cast<const PackedPlan*>(plan), 0); }

// Four rows of an unpacked program's weight share the spread inputs, to which the offset is added: 27 instructions per
// 16 products.
struct Rows {
  std::int32_t sums[4];
  const std::int8_t* x;
  const std::int8_t* weights;
  std::uint32_t inputs;   // from one row to the next
  std::uint32_t offsets;  // the input's offset, twice
  std::uint32_t blocks;   // of four inputs, at least one
};
static_assert(offsetof(Rows, x) == 16 && offsetof(Rows, offsets) == 28 && offsetof(Rows, blocks) == 32);

// Registers: r2 … r5 sums, r6 inputs, r7 weights, r8 and r1 the distances of one and three rows, r9 offsets, r10 and
// r11 spread inputs, r12 and r0 weights, lr blocks left.
// clang-format off
[[gnu::naked, gnu::noinline]] void accumulate_rows(Rows* /*rows: r0*/) {
#define CORMORANT_ROW(sum, address)     \
  "ldr r12, [r7" address "\n\t"         \
  "sxtb16 r0, r12\n\t"                 \
  "sxtb16 r12, r12, ror #8\n\t"        \
  "smlad " #sum ", r10, r0, " #sum "\n\t" \
  "smlad " #sum ", r11, r12, " #sum "\n\t"
  asm volatile("push {r0, r4-r11, lr}\n\t"
               CORMORANT_CFI("adjust_cfa_offset 40") CORMORANT_CFI_R4_R7("4") CORMORANT_CFI_R8_R11("20")
               CORMORANT_CFI("rel_offset lr, 36")
               "ldmia r0, {r2-r9, lr}\n\t"
               "add r1, r8, r8, lsl #1\n"
               "1:\n\t"
               "ldr r11, [r6], #4\n\t"
               "sxtb16 r10, r11\n\t"
               "sxtb16 r11, r11, ror #8\n\t"
               "sadd16 r10, r10, r9\n\t"
               "sadd16 r11, r11, r9\n\t"
               CORMORANT_ROW(r3, ", r8]")
               CORMORANT_ROW(r4, ", r8, lsl #1]")
               CORMORANT_ROW(r5, ", r1]")
               CORMORANT_ROW(r2, "], #4")
               "subs lr, lr, #1\n\t"
               "bne 1b\n\t"
               "pop {r0}\n\t"
               CORMORANT_CFI("adjust_cfa_offset -4")
               "stmia r0, {r2-r5}\n\t"
               "pop {r4-r11, pc}");
#undef CORMORANT_ROW
}
// clang-format on

// The part of `rows` rows that blocks of four leave over, or all of it.
void multiply_rest(Rows& r, std::uint32_t rows, std::uint32_t from, std::int32_t offset) {
  const std::int8_t* weights = r.weights;
  for (std::uint32_t n = 0; n < rows; ++n, weights += r.inputs) {
    for (std::uint32_t k = from; k < r.inputs; ++k) r.sums[n] += (r.x[k] + offset) * weights[k];
  }
}

void execute(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  const std::uint32_t offset = static_cast<std::uint16_t>(p.input_offset);
  Rows rows{.sums = {},
            .x = p.input,
            .weights = p.weights,
            .inputs = p.inputs,
            .offsets = offset * 0x10001U,
            .blocks = p.inputs / 4};
  std::int8_t* out = p.out;
  for (std::uint32_t row = 0; row < p.rows; ++row, rows.x += p.inputs) {
    rows.weights = p.weights;
    for (std::uint32_t n = 0; n < p.outputs;) {
      const std::uint32_t count = p.outputs - n < 4 ? 1 : 4;
      for (std::uint32_t i = 0; i < count; ++i) rows.sums[i] = p.bias == nullptr ? 0 : p.bias[n + i];
      const bool whole = count == 4 && rows.blocks != 0;
      if (whole) accumulate_rows(&rows);
      multiply_rest(rows, count, whole ? 4 * rows.blocks : 0, p.input_offset);
      for (std::uint32_t i = 0; i < count; ++i) {
        const std::int32_t level = requantize(rows.sums[i], p.multiplier, p.shift) + p.output_offset;
        *out++ = static_cast<std::int8_t>(clamp(level, p.activation_min, p.activation_max));
      }
      rows.weights += count * p.inputs;
      n += count;
    }
  }
}

}  // namespace

constexpr auto* execute_pairs = execute_groups<Pairs>;
constexpr auto* execute_wide = execute_groups<Wide>;
CORMORANT_KERNELS(CORMORANT_LINEAR_KERNELS, dsp)

}  // namespace cormorant::ops::linear
