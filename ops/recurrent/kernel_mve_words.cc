// SPDX-License-Identifier: Apache-2.0
//
// With 16-bit activations: the loop of kernel_mve.cc in vectors of eight, and loads that widen the weights. Sums are
// scaled by one instruction.
#include <cstddef>

#include "kernels/frame.h"
#include "ops/recurrent/units_mve.h"

namespace cormorant::ops::recurrent {
namespace {

static_assert(offsetof(WordGroups, rest) == 8 && offsetof(WordGroups, record) == 12 &&
              offsetof(WordGroups, adds) == 24);

}  // namespace

// As C++, per group:
//   for n: sum[n] = bias[n] + Σ x[k] · weight[n][k]
//   for n: value = high_multiply(sum[n], multiplier[n]), out[n] = saturate_16(adds ? (out[n] << shift) + value : value)
// Even rows gather in q0, odd ones in q1: narrowing the two to 16 bits interleaves them again. `record` advances.
[[gnu::naked, gnu::noinline]] void run_word_groups(WordGroups* /*groups: r0*/) {
  // clang-format off
#define CORMORANT_PRODUCTS(sum)     \
  "vldrb.s16 q1, [r3], #8\n\t"      \
  "vmladava.s16 " #sum ", q0, q1\n\t"
#define CORMORANT_BLOCK             \
  "vldrh.u16 q0, [r1], #16\n\t"     \
  CORMORANT_PRODUCTS(r0) CORMORANT_PRODUCTS(r2) CORMORANT_PRODUCTS(r4) CORMORANT_PRODUCTS(r6) \
  CORMORANT_PRODUCTS(r8) CORMORANT_PRODUCTS(r10) CORMORANT_PRODUCTS(r12) CORMORANT_PRODUCTS(lr)
#define CORMORANT_REST(sum)         \
  "vldrb.s16 q1, [r3]\n\t"          \
  "add r3, r3, r5\n\t"              \
  "vmladava.s16 " #sum ", q0, q1\n\t"
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
               "vldrw.u32 q2, [r3], #16\n\t"
               "vldrw.u32 q3, [r3], #16\n\t"
               "vrmulh.s32 q0, q0, q2\n\t"
               "vrmulh.s32 q1, q1, q3\n\t"
               "ldr r1, [r11, #24]\n\t"
               "cmp r1, #0\n\t"
               "beq 7f\n\t"
               "vldrh.u16 q2, [r7]\n\t"
               "vmovlb.s16 q3, q2\n\t"
               "vmovlt.s16 q2, q2\n\t"
               "vshl.s32 q3, r1\n\t"
               "vshl.s32 q2, r1\n\t"
               "vadd.i32 q0, q0, q3\n\t"
               "vadd.i32 q1, q1, q2\n"
               "7:\n\t"
               "vqmovnb.s32 q0, q0\n\t"
               "vqmovnt.s32 q0, q1\n\t"
               "subs r9, r9, #1\n\t"
               "vstrh.16 q0, [r7], #16\n\t"
               "bne 1b\n\t"
               "str r3, [r11, #12]\n\t"
               "pop {r4-r11, pc}\n"
               // The rest of less than 16 elements: at most a block and a piece. Weights of the next row are loaded
               // along with a piece's, and multiplied by elements that the predicated load has set to zero.
               "4:\n\t"
               "cmp r5, #8\n\t"
               "blo 5f\n\t"
               CORMORANT_BLOCK
               "subs r5, r5, #8\n\t"
               "beq 6b\n"
               "5:\n\t"
               "vctp.16 r5\n\t"
               "vpst\n\t"
               "vldrht.u16 q0, [r1]\n\t"
               CORMORANT_REST(r0) CORMORANT_REST(r2) CORMORANT_REST(r4) CORMORANT_REST(r6)
               CORMORANT_REST(r8) CORMORANT_REST(r10) CORMORANT_REST(r12) CORMORANT_REST(lr)
               "b 6b");
#undef CORMORANT_REST
#undef CORMORANT_BLOCK
#undef CORMORANT_PRODUCTS
  // clang-format on
}

namespace {

// recurrent::Kept.
struct Words {
  using Element = std::int16_t;
  std::int32_t finer;

  explicit Words(const PackedHeader& header) : finer(finer_cell<WideFunctions>(header)) {}
  [[nodiscard]] static int16x8_t of(int16x8_t h) { return h; }
  static void store(std::int16_t* to, int16x8_t h, mve_pred16_t lanes) { vstrhq_p_s16(to, h, lanes); }
  static constexpr int kShift = WideFunctions::kShift;
  [[nodiscard]] int16x8_t as_cell(int16x8_t fresh) const { return vrshlq_n_s16(fresh, finer - 4); }
  [[nodiscard]] int16x8_t as_sum(int16x8_t c) const { return vqshlq_r_s16(c, 1 - finer); }
  static int16x8_t tanh(int16x8_t x) { return fine_tanh_of(x); }
  static int16x8_t sigmoid(int16x8_t x) { return wide_sigmoid_of(x); }
};

// recurrent::WideRelu.
struct ReluWords : Words {
  using Words::Words;
  [[nodiscard]] static int16x8_t of(int16x8_t sum) { return at_least_zero(sum); }
};

struct MveWords {
  using Element = std::int16_t;
  static void copy(void* to, const void* from, std::uint32_t bytes) { copy_bytes(to, from, bytes); }

  [[gnu::always_inline]] static void multiply(const Row<std::int16_t>& row, std::uint32_t outputs) {
    const Geometry geometry{static_cast<Kind>(row.header.kind), Layout::mve_words, row.header.inputs, row.header.units,
                            outputs};
    WordGroups groups{nullptr, 0, 0, row.groups, nullptr, 0, 0};
    for (std::uint32_t k = 0; k < geometry.blocks(); ++k) {
      const Block block = geometry.block(k);
      groups.x = row.vector + block.first;
      groups.turns = block.length / 16;
      groups.rest = block.length % 16;
      groups.count = geometry.groups(block);
      groups.out = row.sums + block.out;
      groups.adds = block.adds ? kAdds + static_cast<std::uint32_t>(part_shift(row.header)) : 0;
      run_word_groups(&groups);
    }
  }

  static void narrow(const Row<std::int16_t>& row, const std::int16_t* h) { narrow_units<Words>(row, h); }
  static void step(const Row<std::int16_t>& row, std::int16_t* states) { step_units<Words>(row, states); }

  static void relu(const Row<std::int16_t>& row, std::int16_t* states) {
    finish_units<ReluWords>(row, row.sums, row.header.units, states);
  }
  static void cells(const Row<std::int16_t>& row) { cell_units<Words>(row.header, row.sums, row.kept); }
  static void project(const Geometry& words, const Block& block, const std::byte* record, const std::int16_t* from,
                      std::int16_t* to) {
    project_groups(block, words.groups(block), record, from, to);
  }
  static void finish(const Row<std::int16_t>& row, const std::int16_t* from, std::uint32_t outputs,
                     std::int16_t* states) {
    finish_units<Words>(row, from, outputs, states);
  }
};

void execute_words(const void* plan) { run<MveWords>(*static_cast<const Plan*>(plan)); }
void execute_words_relu(const void* plan) { run_relu<MveWords>(*static_cast<const Plan*>(plan)); }
void execute_words_projected(const void* plan) { run_projected<MveWords>(*static_cast<const Plan*>(plan)); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_RECURRENT_KERNELS, mve_words)

}  // namespace cormorant::ops::recurrent
