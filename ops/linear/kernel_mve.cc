// SPDX-License-Identifier: Apache-2.0
//
// VMLADAVA adds 16 products to a core register, but only to an even one: eight sums, r0 to lr, share each load of 16
// inputs, and the odd registers hold everything else. The loop over groups is one piece of assembly, because no
// compiler hands out that many registers, and because gcc 12 takes twice as many instructions.
#include <arm_mve.h>

#include "base/fixed_point.h"
#include "kernels/frame.h"
#include "kernels/requantize_mve.h"
#include "ops/linear/kernel.h"

namespace cormorant::ops::linear {
namespace {

// Groups of eight features for one row of input.
struct Groups {
  const std::int8_t* x;
  std::uint32_t turns;  // inputs / 64
  std::uint32_t rest;   // inputs % 64
  const std::byte* record;
  std::int8_t* out;
  std::uint32_t count;  // of features, at least one; the last group may have more
  std::int32_t output_offset;
  std::uint32_t takes_detour;  // whether some feature shifts left, or results are clamped further than to int8
  std::int32_t activation_min;
  std::int32_t activation_max;
};

// As C++, per group:
//   for n: sum[n] = bias[n] + Σ x[k] · weight[n][k]
//   for n: out[n] = clamp(rounding_shift_right(doubling_high_multiply(sum[n], multiplier[n]), −shift[n]) + offset)
// Even features gather in q0, odd ones in q1: narrowing the two to 16 bits interleaves them again. Loads take all of
// the time, two cycles each; q4 to q7 are not used, since saving them would take as long as a group of 16 inputs.
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
               CORMORANT_BLOCK
               "subs r5, r5, #1\n\t"
               CORMORANT_BLOCK
               "bne 2b\n"
               "3:\n\t"
               "ldr r5, [r11, #8]\n\t"
               "cmp r5, #0\n\t"
               "bne 4f\n"
               // Requantization.
               "6:\n\t"
               "ldr r1, [r11, #28]\n\t"
               "vmov q0[2], q0[0], r0, r8\n\t"
               "vldrw.u32 q2, [r3], #16\n\t"
               "vmov q0[3], q0[1], r4, r12\n\t"
               "vldrw.u32 q3, [r3], #16\n\t"
               "cbnz r1, 7f\n\t"
               "vqrdmulh.s32 q0, q0, q2\n\t"
               "ldr r0, [r11, #24]\n\t"
               "vmov q1[2], q1[0], r2, r10\n\t"
               "vshr.s32 q2, q0, #31\n\t"          // negative numbers' ties round down
               "vmov q1[3], q1[1], r6, lr\n\t"
               "vadd.i32 q0, q0, q2\n\t"
               "vqrdmulh.s32 q1, q1, q3\n\t"
               "vldrb.s32 q2, [r3], #4\n\t"
               "vrshl.s32 q0, q0, q2\n\t"
               "vldrb.s32 q3, [r3], #4\n\t"
               "vshr.s32 q2, q1, #31\n\t"
               "vadd.i32 q1, q1, q2\n\t"
               "vrshl.s32 q1, q1, q3\n\t"
               "subs r9, r9, #8\n\t"
               "vqmovnb.s32 q0, q0\n\t"
               "vqmovnt.s32 q0, q1\n\t"
               "vqadd.s16 q0, q0, r0\n\t"
               "vqmovnb.s16 q0, q0\n"
               "8:\n\t"
               "bmi 9f\n\t"
               "vstrb.16 q0, [r7], #8\n\t"
               "bne 1b\n"
               "10:\n\t"
               "pop {r4-r11, pc}\n"
               // Shifts in either direction, and a clamp.
               "7:\n\t"
               "vmov q1[2], q1[0], r2, r10\n\t"
               "vmov q1[3], q1[1], r6, lr\n\t"
               CORMORANT_PUSH_D8_D9
               "vldrb.s32 q2, [r3]\n\t"
               "vldrb.s32 q3, [r3, #4]\n\t"
               "vmov.i32 q4, #0\n\t"
               "vmax.s32 q2, q2, q4\n\t"
               "vmax.s32 q3, q3, q4\n\t"
               "vshl.s32 q0, q0, q2\n\t"
               "vshl.s32 q1, q1, q3\n\t"
               "vldrw.u32 q2, [r3, #-32]\n\t"
               "vldrw.u32 q3, [r3, #-16]\n\t"
               "vqrdmulh.s32 q0, q0, q2\n\t"
               "vqrdmulh.s32 q1, q1, q3\n\t"
               "vldrb.s32 q2, [r3], #4\n\t"
               "vldrb.s32 q3, [r3], #4\n\t"
               "vmin.s32 q2, q2, q4\n\t"
               "vmin.s32 q3, q3, q4\n\t"
               "vand q4, q0, q2\n\t"
               "vshr.s32 q4, q4, #31\n\t"
               "vadd.i32 q0, q0, q4\n\t"
               "vand q4, q1, q3\n\t"
               "vshr.s32 q4, q4, #31\n\t"
               "vadd.i32 q1, q1, q4\n\t"
               "vrshl.s32 q0, q0, q2\n\t"
               "vrshl.s32 q1, q1, q3\n\t"
               "ldr r0, [r11, #24]\n\t"
               "ldrd r2, r4, [r11, #32]\n\t"
               "vqmovnb.s32 q0, q0\n\t"
               "vqmovnt.s32 q0, q1\n\t"
               "vdup.16 q2, r2\n\t"
               "vqadd.s16 q0, q0, r0\n\t"
               "vdup.16 q3, r4\n\t"
               "vmax.s16 q0, q0, q2\n\t"
               "vmin.s16 q0, q0, q3\n\t"
               CORMORANT_POP_D8_D9
               "subs r9, r9, #8\n\t"
               "b 8b\n"
               // A last group that is not full.
               "9:\n\t"
               "adds r9, r9, #8\n\t"
               "vctp.16 r9\n\t"
               "vpst\n\t"
               "vstrbt.16 q0, [r7]\n\t"
               "b 10b\n"
               // The rest of less than 64 inputs: blocks, and a piece. Weights of the next feature are loaded along
               // with a piece's, and multiplied by inputs that the predicated load has set to zero.
               "4:\n\t"
               "subs r5, r5, #16\n\t"
               "blo 5f\n"
               "11:\n\t"
               CORMORANT_BLOCK
               "subs r5, r5, #16\n\t"
               "bhs 11b\n"
               "5:\n\t"
               "ands r5, r5, #15\n\t"
               "beq 6b\n\t"
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

// sum + Σ x[k] · w[k].
inline std::int32_t dot(std::int32_t sum, const std::int8_t* x, const std::int8_t* w, std::uint32_t count) {
  asm volatile(
      "dlstp.8 lr, %[count]\n"
      "1:\n\t"
      "vldrb.u8 q0, [%[x]], #16\n\t"
      "vldrb.u8 q1, [%[w]], #16\n\t"
      "vmladava.s8 %[sum], q0, q1\n\t"
      "letp lr, 1b"
      : [sum] "+&Te"(sum), [x] "+&r"(x), [w] "+&r"(w)
      : [count] "r"(count)
      : "q0", "q1", "lr", "memory");
  return sum;
}

// sum + Σ (x[k] + offset) · w[k]; the weights' own sum is computed along the way.
inline std::int32_t dot(std::int32_t sum, const std::int8_t* x, const std::int8_t* w, std::uint32_t count,
                        std::int32_t offset) {
  std::int32_t weights = 0;
  asm volatile(
      "dlstp.8 lr, %[count]\n"
      "1:\n\t"
      "vldrb.u8 q0, [%[x]], #16\n\t"
      "vldrb.u8 q1, [%[w]], #16\n\t"
      "vmladava.s8 %[sum], q0, q1\n\t"
      "vaddva.s8 %[weights], q1\n\t"
      "letp lr, 1b"
      : [sum] "+&Te"(sum), [weights] "+&Te"(weights), [x] "+&r"(x), [w] "+&r"(w)
      : [count] "r"(count)
      : "q0", "q1", "lr", "memory");
  return sum + weights * offset;
}

// One feature whose weights are in a row; returns the next record.
inline const std::byte* run_single(const PackedHeader& header, const std::byte* record, const std::int8_t* x,
                                   std::int8_t* out) {
  const std::int32_t bias = *reinterpret_cast<const std::int32_t*>(record);
  const std::int32_t sum = dot(bias, x, reinterpret_cast<const std::int8_t*>(record + 4), header.inputs);
  record += 4 + round_up_4(header.inputs);
  const std::int32_t multiplier = *reinterpret_cast<const std::int32_t*>(record);
  const auto shift = static_cast<std::int8_t>(record[4]);
  const std::int32_t level = requantize(sum, multiplier, shift) + header.output_offset;
  *out = static_cast<std::int8_t>(clamp(level, header.activation_min, header.activation_max));
  return record + 8;
}

void run_packed(const PackedPlan& p, std::uint32_t groups) {
  const PackedHeader& header = p.header();
  Groups g{.x = p.input,
           .turns = header.inputs / 64,
           .rest = header.inputs % 64,
           .record = nullptr,
           .out = p.out,
           .count = 8 * groups < header.outputs ? 8 * groups : header.outputs,
           .output_offset = header.output_offset,
           .takes_detour =
               (header.flags & kSimpleRequantize) == 0 || header.activation_min != -128 || header.activation_max != 127,
           .activation_min = header.activation_min,
           .activation_max = header.activation_max};
  const PackedGeometry geometry{Layout::mve, header.inputs, header.outputs};
  for (std::uint32_t row = 0; row < p.rows; ++row, g.x += header.inputs) {
    g.record = p.packed + sizeof(PackedHeader);
    const std::byte* record = g.record + groups * geometry.group_bytes();
    if (groups != 0) run_groups(&g);
    g.out += g.count;
    for (std::uint32_t single = header.outputs - g.count; single > 0; --single, ++g.out) {
      record = run_single(header, record, g.x, g.out);
    }
  }
}

void execute_groups(const void* plan) {
  const auto& p = *static_cast<const PackedPlan*>(plan);
  const PackedHeader& header = p.header();
  run_packed(p, PackedGeometry{Layout::mve, header.inputs, header.outputs}.groups());
}

void execute_rows(const void* plan) { run_packed(*static_cast<const PackedPlan*>(plan), 0); }

// Four rows of the weight at once, which share the loads of x; (x + offset) · w without a sum of weights, as two
// products of bytes: x · w + offset · w or, if the offset is 128, which is not an int8, its opposite, ~x · w − 127 · w.
struct FourRows {
  const std::int8_t* x;
  std::uint32_t inputs;
  std::int32_t offset;

  [[nodiscard]] int32x4_t sums(const std::int8_t* weights) const {
    const bool is_opposite = offset == 128;
    const int8x16_t flipped = vdupq_n_s8(is_opposite ? -1 : 0);
    const int8x16_t factor = vdupq_n_s8(static_cast<std::int8_t>(is_opposite ? -127 : offset));
    const std::int8_t* from = x;
    const std::int8_t *w0 = weights, *w1 = w0 + inputs, *w2 = w1 + inputs, *w3 = w2 + inputs;
    std::int32_t a = 0, b = 0, c = 0, d = 0;
    asm volatile(
        "dlstp.8 lr, %[count]\n"
        "1:\n\t"
        "vldrb.u8 q0, [%[x]], #16\n\t"
        "vldrb.u8 q1, [%[w0]], #16\n\t"
        "veor q0, q0, %q[flipped]\n\t"
        "vmladava.s8 %[a], q1, %q[factor]\n\t"
        "vldrb.u8 q2, [%[w1]], #16\n\t"
        "vmladava.s8 %[a], q0, q1\n\t"
        "vldrb.u8 q1, [%[w2]], #16\n\t"
        "vmladava.s8 %[b], q2, %q[factor]\n\t"
        "vmladava.s8 %[b], q0, q2\n\t"
        "vldrb.u8 q2, [%[w3]], #16\n\t"
        "vmladava.s8 %[c], q1, %q[factor]\n\t"
        "vmladava.s8 %[c], q0, q1\n\t"
        "vmladava.s8 %[d], q2, %q[factor]\n\t"
        "vmladava.s8 %[d], q0, q2\n\t"
        "letp lr, 1b"
        : [a] "+&Te"(a), [b] "+&Te"(b), [c] "+&Te"(c), [d] "+&Te"(d), [x] "+&r"(from), [w0] "+&r"(w0), [w1] "+&r"(w1),
          [w2] "+&r"(w2), [w3] "+&r"(w3)
        : [count] "r"(inputs), [flipped] "w"(flipped), [factor] "w"(factor)
        : "q0", "q1", "q2", "lr", "memory");
    const int32x4_t all = {a, b, c, d};
    return is_opposite ? vnegq_s32(all) : all;
  }
};

// An unpacked program.
void execute(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  const std::int8_t* x = p.input;
  std::int8_t* out = p.out;
  const int32x4_t left = vdupq_n_s32(p.shift > 0 ? p.shift : 0), right = vdupq_n_s32(p.shift > 0 ? 0 : p.shift);
  for (std::uint32_t row = 0; row < p.rows; ++row, x += p.inputs) {
    const FourRows four{x, p.inputs, p.input_offset};
    const std::int8_t* weights = p.weights;
    std::uint32_t n = 0;
    for (; n + 4 <= p.outputs; n += 4, weights += 4 * p.inputs, out += 4) {
      int32x4_t level = four.sums(weights);
      if (p.bias != nullptr) level = vaddq_s32(level, vldrwq_s32(p.bias + n));
      level = vaddq_n_s32(requantize_mve(level, vdupq_n_s32(p.multiplier), left, right), p.output_offset);
      level = vminq_s32(vmaxq_s32(level, vdupq_n_s32(p.activation_min)), vdupq_n_s32(p.activation_max));
      vstrbq_s32(out, level);
    }
    for (; n < p.outputs; ++n, weights += p.inputs) {
      const std::int32_t sum = dot(p.bias == nullptr ? 0 : p.bias[n], x, weights, p.inputs, p.input_offset);
      const std::int32_t level = requantize(sum, p.multiplier, p.shift) + p.output_offset;
      *out++ = static_cast<std::int8_t>(clamp(level, p.activation_min, p.activation_max));
    }
  }
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_LINEAR_KERNELS, mve)

}  // namespace cormorant::ops::linear
