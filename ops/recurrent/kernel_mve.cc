// SPDX-License-Identifier: Apache-2.0
//
// VMLADAVA adds 16 products to a core register, but only to an even one: eight rows, r0 to lr, share each load of 16
// elements of the vector (ops/linear has the same loop). Functions take eight values at a time: two gather loads from
// the table, and linear interpolation.
#include <arm_mve.h>

#include <cstddef>

#include "kernels/frame.h"
#include "ops/recurrent/arithmetic.h"
#include "ops/recurrent/kernel.h"

namespace cormorant::ops::recurrent {
namespace {

// Groups of eight rows of one block.
struct Groups {
  const std::int8_t* x;
  std::uint32_t turns;  // length / 32
  std::uint32_t rest;   // length % 32
  const std::byte* record;
  std::int16_t* out;
  std::uint32_t count;  // of groups, at least one
  std::uint32_t left;
};
static_assert(offsetof(Groups, rest) == 8 && offsetof(Groups, record) == 12 && offsetof(Groups, left) == 24);

// As C++, per group:
//   for n: sum[n] = bias[n] + Σ x[k] · weight[n][k]
//   for n: out[n] = saturate_16(doubling_high_multiply(sum[n] << left, multiplier[n]))
// Even rows gather in q0, odd ones in q1: narrowing the two to 16 bits interleaves them again. `record` advances.
[[gnu::naked, gnu::noinline]] void run_groups(Groups* /*groups: r0*/) {
  // clang-format off
#define CORMORANT_PRODUCTS(sum)     \
  "vldrb.u8 q1, [r3], #16\n\t"      \
  "vmladava.s8 " #sum ", q0, q1\n\t"
#define CORMORANT_BLOCK             \
  "vldrb.u8 q0, [r1], #16\n\t"      \
  CORMORANT_PRODUCTS(r0) CORMORANT_PRODUCTS(r2) CORMORANT_PRODUCTS(r4) CORMORANT_PRODUCTS(r6) \
  CORMORANT_PRODUCTS(r8) CORMORANT_PRODUCTS(r10) CORMORANT_PRODUCTS(r12) CORMORANT_PRODUCTS(lr)
#define CORMORANT_REST(sum)         \
  "vldrb.u8 q1, [r3]\n\t"           \
  "add r3, r3, r5\n\t"              \
  "vmladava.s8 " #sum ", q0, q1\n\t"
  asm volatile(CORMORANT_PUSH_R4_R11_LR
               "mov r11, r0\n\t"
               "ldr r3, [r11, #12]\n\t"
               "ldrd r7, r9, [r11, #16]\n"
               // One group.
               "1:\n\t"
               "ldrd r1, r5, [r11]\n\t"
               "ldmia r3!, {r0, r2, r4, r6, r8, r10, r12, lr}\n\t"
               "cmp r5, #0\n\t"
               "beq 3f\n"
               "2:\n\t"
               CORMORANT_BLOCK
               CORMORANT_BLOCK
               "subs r5, r5, #1\n\t"
               "bne 2b\n"
               "3:\n\t"
               "ldr r5, [r11, #8]\n\t"
               "cmp r5, #0\n\t"
               "bne 4f\n"
               // Scaling.
               "6:\n\t"
               "vmov q0[2], q0[0], r0, r8\n\t"
               "vmov q0[3], q0[1], r4, r12\n\t"
               "vmov q1[2], q1[0], r2, r10\n\t"
               "vmov q1[3], q1[1], r6, lr\n\t"
               "ldr r1, [r11, #24]\n\t"
               "vldrw.u32 q2, [r3], #16\n\t"
               "vshl.s32 q0, r1\n\t"
               "vldrw.u32 q3, [r3], #16\n\t"
               "vshl.s32 q1, r1\n\t"
               "vqrdmulh.s32 q0, q0, q2\n\t"
               "vqrdmulh.s32 q1, q1, q3\n\t"
               "vqmovnb.s32 q0, q0\n\t"
               "vqmovnt.s32 q0, q1\n\t"
               "subs r9, r9, #1\n\t"
               "vstrh.16 q0, [r7], #16\n\t"
               "bne 1b\n\t"
               "str r3, [r11, #12]\n\t"
               "pop {r4-r11, pc}\n"
               // The rest of less than 32 elements: at most a block and a piece. Weights of the next row are loaded
               // along with a piece's, and multiplied by elements that the predicated load has set to zero.
               "4:\n\t"
               "cmp r5, #16\n\t"
               "blo 5f\n\t"
               CORMORANT_BLOCK
               "subs r5, r5, #16\n\t"
               "beq 6b\n"
               "5:\n\t"
               "vctp.8 r5\n\t"
               "vpst\n\t"
               "vldrbt.u8 q0, [r1]\n\t"
               CORMORANT_REST(r0) CORMORANT_REST(r2) CORMORANT_REST(r4) CORMORANT_REST(r6)
               CORMORANT_REST(r8) CORMORANT_REST(r10) CORMORANT_REST(r12) CORMORANT_REST(lr)
               "b 6b");
#undef CORMORANT_REST
#undef CORMORANT_BLOCK
#undef CORMORANT_PRODUCTS
  // clang-format on
}

// From `table` on, at the indices: the entry, plus a fraction, in 15 bits, of the difference to the next one.
inline int16x8_t on_line(const std::int16_t* table, uint16x8_t index, int16x8_t share) {
  const int16x8_t from = vldrhq_gather_shifted_offset_s16(table, index);
  const int16x8_t to = vldrhq_gather_shifted_offset_s16(table + 1, index);
  return vaddq_s16(from, vqrdmulhq_s16(vsubq_s16(to, from), share));
}
inline uint16x8_t from_lowest(int16x8_t x) { return veorq_u16(vreinterpretq_u16_s16(x), vdupq_n_u16(0x8000)); }
inline int16x8_t without_sign(int16x8_t x) {
  return vreinterpretq_s16_u16(vbicq_n_u16(vreinterpretq_u16_s16(x), 0x8000));
}

// Functions::tanh and sigmoid.
inline int16x8_t tanh_of(int16x8_t x) {
  return on_line(kTanh.at, vshrq_n_u16(from_lowest(x), 8), without_sign(vshlq_n_s16(x, 7)));
}
inline int16x8_t sigmoid_of(int16x8_t x) {
  const int16x8_t t = on_line(kTanh.at + 64, vshrq_n_u16(from_lowest(x), 9), without_sign(vshlq_n_s16(x, 6)));
  return vhaddq_s16(t, vdupq_n_s16(32767));
}

// Eight units, of which p says how many exist: their sums, and what is kept.
struct Eight {
  const std::int16_t* sums;
  std::uint32_t units;
  mve_pred16_t p;
  [[nodiscard]] int16x8_t sum(std::uint32_t gate) const { return vldrhq_z_s16(sums + gate * units, p); }
};

inline int16x8_t lstm_units(const Eight& of, int16x8_t& c) {
  const int16x8_t fresh = vrshrq_n_s16(vqrdmulhq_s16(sigmoid_of(of.sum(0)), tanh_of(of.sum(2))), 4);
  c = vqaddq_s16(vqrdmulhq_s16(sigmoid_of(of.sum(1)), c), fresh);
  return vqrdmulhq_s16(sigmoid_of(of.sum(3)), tanh_of(vqshlq_n_s16(c, 1)));
}
inline int16x8_t gru_units(const Eight& of, int16x8_t h) {
  const int16x8_t n = tanh_of(vqaddq_s16(of.sum(2), vqrdmulhq_s16(sigmoid_of(of.sum(0)), of.sum(3))));
  const int16x8_t kept = sigmoid_of(of.sum(1));
  const int16x8_t rest = vsubq_s16(vdupq_n_s16(32767), kept);
  return vqaddq_s16(vqrdmulhq_s16(kept, h), vqrdmulhq_s16(rest, n));
}

// Narrow; the lower byte of each half is the result.
inline int16x8_t narrowed(const PackedHeader& header, int16x8_t h) {
  const int16x8_t scaled = vrshlq_n_s16(vqrdmulhq_n_s16(h, header.h_multiplier), -header.h_shift);
  const int16x8_t level = vqaddq_n_s16(scaled, header.h_zero_point);
  return vreinterpretq_s16_s8(vqmovnbq_s16(vreinterpretq_s8_s16(level), level));
}

template <Kind kind>
inline void step_units(const Row& row, std::int8_t* states) {
  std::int8_t* h8 = row.vector + row.header.inputs;
  std::int16_t* kept = row.kept;
  Eight of{row.sums, row.header.units, 0};
  for (auto left = static_cast<std::int32_t>(of.units); left > 0; left -= 8) {
    of.p = vctp16q(static_cast<std::uint32_t>(left));
    int16x8_t state = vldrhq_z_s16(kept, of.p);
    int16x8_t h;
    if constexpr (kind == Kind::lstm) {
      h = lstm_units(of, state);
    } else if constexpr (kind == Kind::gru) {
      h = state = gru_units(of, state);
    } else {
      h = state = tanh_of(of.sum(0));
    }
    vstrhq_p_s16(kept, state, of.p);
    h = narrowed(row.header, h);
    vstrbq_p_s16(h8, h, of.p);
    vstrbq_p_s16(states, h, of.p);
    of.sums += 8;
    kept += 8;
    h8 += 8;
    states += 8;
  }
}

struct Mve {
  static void copy(std::int8_t* to, const std::int8_t* from, std::uint32_t bytes) {
    asm volatile(
        "dlstp.8 lr, %[bytes]\n"
        "1:\n\t"
        "vldrb.u8 q0, [%[from]], #16\n\t"
        "vstrb.8 q0, [%[to]], #16\n\t"
        "letp lr, 1b"
        : [to] "+&r"(to), [from] "+&r"(from)
        : [bytes] "r"(bytes)
        : "q0", "lr", "memory");
  }

  static void multiply(const Row& row) {
    const Geometry geometry{static_cast<Kind>(row.header.kind), Layout::mve, row.header.inputs, row.header.units};
    Groups groups{nullptr, 0, 0, row.groups, row.sums, 0, row.header.left};
    for (std::uint32_t k = 0; k < geometry.blocks(); ++k) {
      const Block block = geometry.block(k);
      groups.x = row.vector + block.first;
      groups.turns = block.length / 32;
      groups.rest = block.length % 32;
      groups.count = geometry.groups(block);
      run_groups(&groups);
      groups.out += block.rows;
    }
  }

  static void narrow(const Row& row) {
    std::int8_t* h8 = row.vector + row.header.inputs;
    const std::int16_t* kept = row.kept;
    for (std::int32_t left = row.header.units; left > 0; left -= 8, kept += 8, h8 += 8) {
      const mve_pred16_t p = vctp16q(static_cast<std::uint32_t>(left));
      vstrbq_p_s16(h8, narrowed(row.header, vldrhq_z_s16(kept, p)), p);
    }
  }

  static void step(const Row& row, std::int8_t* states) {
    switch (static_cast<Kind>(row.header.kind)) {
      case Kind::lstm:
        return step_units<Kind::lstm>(row, states);
      case Kind::gru:
        return step_units<Kind::gru>(row, states);
      case Kind::rnn:
        return step_units<Kind::rnn>(row, states);
    }
  }
};

void execute_recurrent(const void* plan) { run<Mve>(*static_cast<const Plan*>(plan)); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_RECURRENT_KERNELS, mve)

}  // namespace cormorant::ops::recurrent
