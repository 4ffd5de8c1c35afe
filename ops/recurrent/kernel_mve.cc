// SPDX-License-Identifier: Apache-2.0
//
// VMLADAVA adds 16 products to a core register, but only to an even one: eight rows, r0 to lr, share each load of 16
// elements of the vector (ops/linear has the same loop).
#include <cstddef>

#include "kernels/frame.h"
#include "ops/recurrent/units_mve.h"

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

// h as int8: recurrent::Narrow. The lower byte of each half is the result.
struct Bytes {
  using Element = std::int8_t;
  const PackedHeader& header;

  explicit Bytes(const PackedHeader& of) : header(of) {}
  [[nodiscard]] int16x8_t of(int16x8_t h) const {
    const int16x8_t scaled = vrshlq_n_s16(vqrdmulhq_n_s16(h, header.h_multiplier), -header.h_shift);
    const int16x8_t level = vqaddq_n_s16(scaled, header.h_zero_point);
    return vreinterpretq_s16_s8(vqmovnbq_s16(vreinterpretq_s8_s16(level), level));
  }
  static void store(std::int8_t* to, int16x8_t h, mve_pred16_t lanes) { vstrbq_p_s16(to, h, lanes); }
  static constexpr int kShift = Functions::kShift;
  [[nodiscard]] static int16x8_t as_cell(int16x8_t fresh) { return vrshrq_n_s16(fresh, 4); }
  [[nodiscard]] static int16x8_t as_sum(int16x8_t c) { return vqshlq_n_s16(c, 1); }
  static int16x8_t tanh(int16x8_t x) { return tanh_of(x); }
  static int16x8_t sigmoid(int16x8_t x) { return sigmoid_of(x); }
};

// recurrent::Projected and Relu.
struct ProjectedBytes : Bytes {
  using Bytes::Bytes;
  [[nodiscard]] int16x8_t of(int16x8_t sum) const {
    const int16x8_t level = vqaddq_n_s16(sum, header.h_zero_point);
    return vreinterpretq_s16_s8(vqmovnbq_s16(vreinterpretq_s8_s16(level), level));
  }
};
struct ReluBytes : ProjectedBytes {
  using ProjectedBytes::ProjectedBytes;
  [[nodiscard]] int16x8_t of(int16x8_t sum) const {
    return ProjectedBytes::of(vrshrq_n_s16(at_least_zero(sum), kReluBits));
  }
};

struct Mve {
  using Element = std::int8_t;
  static void copy(void* to, const void* from, std::uint32_t bytes) { copy_bytes(to, from, bytes); }

  [[gnu::always_inline]] static void multiply(const Row<std::int8_t>& row, std::uint32_t outputs) {
    const Geometry geometry{static_cast<Kind>(row.header.kind), Layout::mve, row.header.inputs, row.header.units,
                            outputs};
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

  static void narrow(const Row<std::int8_t>& row, const std::int16_t* h) { narrow_units<Bytes>(row, h); }
  static void step(const Row<std::int8_t>& row, std::int8_t* states) { step_units<Bytes>(row, states); }

  static void relu(const Row<std::int8_t>& row, std::int8_t* states) {
    finish_units<ReluBytes>(row, row.sums, row.header.units, states);
  }
  static void cells(const Row<std::int8_t>& row) { cell_units<Bytes>(row.header, row.sums, row.kept); }
  static void project(const Geometry& words, const Block& block, const std::byte* record, const std::int16_t* from,
                      std::int16_t* to) {
    project_groups(block, words.groups(block), record, from, to);
  }
  static void finish(const Row<std::int8_t>& row, const std::int16_t* from, std::uint32_t outputs,
                     std::int8_t* states) {
    finish_units<ProjectedBytes>(row, from, outputs, states);
  }
};

void execute_recurrent(const void* plan) { run<Mve>(*static_cast<const Plan*>(plan)); }
void execute_relu(const void* plan) { run_relu<Mve>(*static_cast<const Plan*>(plan)); }
void execute_projected(const void* plan) { run_projected<Mve>(*static_cast<const Plan*>(plan)); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_RECURRENT_KERNELS, mve)

}  // namespace cormorant::ops::recurrent
