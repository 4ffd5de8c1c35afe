// SPDX-License-Identifier: Apache-2.0
//
// arithmetic.h in four lanes. No rounding shift here ever sees a negative number, so VRSHR's ties, which go up, are
// right.
#include <arm_mve.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>

#include "kernels/frame.h"
#include "ops/softmax/arithmetic.h"
#include "ops/softmax/kernel.h"
#include "ops/softmax/rows.h"

namespace cormorant::ops::softmax {
namespace {

inline std::int32_t largest_of_neighbours(const std::int8_t* row, std::uint32_t count) {
  std::int8_t largest = -128;
  for (std::uint32_t i = 0; i < count; i += 16) {
    const mve_pred16_t lanes = vctp8q(count - i);
    largest = vmaxvq_p_s8(largest, vldrbq_z_s8(row + i, lanes), lanes);
  }
  return largest;
}

// A row's elements, four at a time, byte by byte: a special form for contiguous rows is not worth its code, since
// exponentials take most of the time.
struct Elements {
  std::uint32_t inner;
  uint32x4_t places;

  explicit Elements(std::uint32_t step) : inner(step), places(vmulq_n_u32(vidupq_n_u32(0, 1), step)) {}
  [[nodiscard]] int32x4_t load(const std::int8_t* row, std::uint32_t i, mve_pred16_t lanes) const {
    return vldrbq_gather_offset_z_s32(row + i * inner, places, lanes);
  }
  void store(std::int8_t* row, std::uint32_t i, int32x4_t values, mve_pred16_t lanes) const {
    vstrbq_scatter_offset_p_s32(row + i * inner, places, values, lanes);
  }
  [[nodiscard]] std::int32_t largest_of(const std::int8_t* row, std::uint32_t count) const {
    if (inner == 1) return largest_of_neighbours(row, count);
    std::int32_t largest = -128;
    for (std::uint32_t i = 0; i < count; i += 4) {
      const mve_pred16_t lanes = vctp32q(count - i);
      largest = vmaxvq_p_s32(largest, load(row, i, lanes), lanes);
    }
    return largest;
  }
};

// Exponentials of four differences to the largest, 0 for those that are too far below it: exponent_of and
// exp_of_negative in four lanes, in and out through q0, also where -mfloat-abi=softfp would pass vectors in integer
// registers. The multiple of 1/4 is ~value except for its last 24 bits, which are the rest's own; so a power of e is
// chosen if value's bit is not set. With the bits reversed, each in turn becomes the sign, from which a predicate can
// be made.
static_assert(offsetof(Plan, multiplier) == 20 && offsetof(Plan, diff_min) == 24 && offsetof(Plan, shift) == 26);
static_assert(kQuarter == 1 << 24 && kInputIntegerBits == 5 && std::size(kExpOfMinusPower) == 7);
[[gnu::naked, gnu::noinline, gnu::pcs("aapcs-vfp")]] int32x4_t exponentials(const Plan& /*p: r0*/,
                                                                            int32x4_t /*difference: q0*/) {
  asm volatile(
      "push {r4, lr}\n"
      CORMORANT_CFI("adjust_cfa_offset 8") CORMORANT_CFI("rel_offset r4, 0") CORMORANT_CFI("rel_offset lr, 4")
      "ldrb r1, [r0, #26]\n"
      "ldrsh r2, [r0, #24]\n"
      CORMORANT_PUSH_D8_D9
      "vcmp.s32 lt, q0, r2\n"
      "ldr r2, [r0, #20]\n"
      "vmrs r12, p0\n"  // too far below
      "vshl.s32 q0, r1\n"
      "movs r1, #32\n"
      "vqrdmulh.s32 q0, q0, r2\n"  // value
      "movs r4, #7\n"
      "vcmp.i32 eq, q0, zr\n"
      "dls lr, r4\n"
      "vbrsr.32 q4, q0, r1\n"
      "vmrs r2, p0\n"  // 0
      "vbic.i32 q0, #0xff000000\n"
      "mov r1, #1 << 28\n"
      "vshl.i32 q0, q0, #5\n"
      "movw r3, #:lower16:%c[third]\n"
      "vsub.i32 q0, q0, r1\n"  // x
      "movt r3, #:upper16:%c[third]\n"
      "vqrdmulh.s32 q1, q0, q0\n"
      "vshl.i32 q4, q4, #24\n"
      "vqrdmulh.s32 q2, q1, q1\n"
      "movw r1, #:lower16:%c[eighth]\n"
      "vqrdmulh.s32 q3, q1, q0\n"
      "vrshr.s32 q2, q2, #2\n"
      "movt r1, #:upper16:%c[eighth]\n"
      "vadd.i32 q2, q2, q3\n"
      "vqrdmulh.s32 q2, q2, r3\n"
      "adr r3, 2f\n"
      "vadd.i32 q2, q2, q1\n"
      "vrshr.s32 q2, q2, #1\n"
      "vadd.i32 q0, q0, q2\n"
      "vqrdmulh.s32 q0, q0, r1\n"
      "ldr r4, [r3], #4\n"
      "vadd.i32 q0, q0, r1\n"
      "1:\n"
      "vpt.s32 ge, q4, zr\n"
      "vqrdmulht.s32 q0, q0, r4\n"
      "vshl.i32 q4, q4, #1\n"
      "ldr r4, [r3], #4\n"
      "le lr, 1b\n"
      "vmsr p0, r2\n"
      "vpst\n"
      "vmvnt.i32 q0, #0x80000000\n"
      "vmsr p0, r12\n"
      "vpst\n"
      "vmovt.i32 q0, #0\n"
      CORMORANT_POP_D8_D9
      "pop {r4, pc}\n"
      ".p2align 2\n"
      "2: .word %c[p0], %c[p1], %c[p2], %c[p3], %c[p4], %c[p5], %c[p6], 0\n"
      :
      : [third] "i"(kThird), [eighth] "i"(kExpOfMinusEighth), [p0] "i"(kExpOfMinusPower[0]),
        [p1] "i"(kExpOfMinusPower[1]), [p2] "i"(kExpOfMinusPower[2]), [p3] "i"(kExpOfMinusPower[3]),
        [p4] "i"(kExpOfMinusPower[4]), [p5] "i"(kExpOfMinusPower[5]), [p6] "i"(kExpOfMinusPower[6]));
}

// Exponentials of a short row are kept for the second pass over it; those of a long one are computed again.
constexpr std::uint32_t kKept = 16;

std::uint32_t sum_of_exponentials(const Plan& p, const Elements& elements, const std::int8_t* row, std::int32_t largest,
                                  std::int32_t* kept) {
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < p.row_size; i += 4) {
    const mve_pred16_t lanes = vctp32q(p.row_size - i);
    const int32x4_t difference = vsubq_n_s32(elements.load(row, i, lanes), largest);
    const int32x4_t exact = exponentials(p, difference);
    if (kept != nullptr) vst1q_s32(kept + i, exact);
    const int32x4_t rounded = vrshrq_n_s32(exact, kSumBits);
    sum = static_cast<std::uint32_t>(vaddvaq_p_s32(static_cast<std::int32_t>(sum), rounded, lanes));
  }
  return sum;
}

void execute(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  const Elements elements(p.inner);
  alignas(16) std::int32_t memory[kKept];
  std::int32_t* const kept = p.row_size <= kKept ? memory : nullptr;
  for_rows(p, [&](std::uint32_t at) {
    const std::int8_t* row = p.input + at;
    std::int8_t* out = p.out + at;
    const std::int32_t largest = elements.largest_of(row, p.row_size);
    const std::uint32_t sum = sum_of_exponentials(p, elements, row, largest, kept);
    const Normalizer normalizer = normalizer_of<doubling_high_multiply>(sum, std::countl_zero(sum));
    const int32x4_t shift = vdupq_n_s32(-normalizer.shift);
    for (std::uint32_t i = 0; i < p.row_size; i += 4) {
      const mve_pred16_t lanes = vctp32q(p.row_size - i);
      const int32x4_t exact =
          kept != nullptr ? vld1q_s32(kept + i) : exponentials(p, vsubq_n_s32(elements.load(row, i, lanes), largest));
      const int32x4_t scaled = vqrdmulhq_n_s32(exact, normalizer.scale);
      const int32x4_t level = vsubq_n_s32(vrshlq_s32(scaled, shift), 128);
      elements.store(out, i, vminq_s32(level, vdupq_n_s32(127)), lanes);
    }
  });
}

void execute_log(const void* raw) {
  const auto& plan = *static_cast<const LogPlan*>(raw);
  const Plan& p = plan.rows;
  const Elements elements(p.inner);
  const int32x4_t shift = vdupq_n_s32(-plan.shift);
  for_rows(p, [&](std::uint32_t at) {
    const std::int8_t* row = p.input + at;
    std::int8_t* out = p.out + at;
    const std::int32_t largest = elements.largest_of(row, p.row_size);
    const std::uint32_t sum = sum_of_exponentials(p, elements, row, largest, nullptr);
    const std::int32_t start = plan.term - log_of_sum<doubling_high_multiply>(sum, plan.log_multiplier, plan.log_shift);
    for (std::uint32_t i = 0; i < p.row_size; i += 4) {
      const mve_pred16_t lanes = vctp32q(p.row_size - i);
      const int32x4_t difference = vsubq_n_s32(elements.load(row, i, lanes), largest);
      const int32x4_t level = vshlq_s32(vaddq_n_s32(vmulq_n_s32(difference, plan.factor), start), shift);
      elements.store(out, i, vmaxq_s32(vminq_s32(level, vdupq_n_s32(127)), vdupq_n_s32(-128)), lanes);
    }
  });
}

// A row of neighbours with exponentials from a table, as C++ four at a time:
//   index = (largest − x) & 255;  e = vldrwq_gather_shifted_offset_s32(table, index)
//   sum += vrshrq_n_s32(e, 12);  out = min(vrshlq_s32(vqrdmulhq_n_s32(e, scale), −shift) − 128, 127)
// clang-format off
#define CORMORANT_EXPONENTIALS              \
  "vldrb.u32 q0, [%[row]], #4\n\t"          \
  "vsub.i32 q0, %q[largest], q0\n\t"        \
  "vand q0, q0, %q[byte]\n\t"               \
  "vldrw.u32 q1, [%[table], q0, uxtw #2]\n\t"

inline std::uint32_t sum_by_table(const TablePlan& p, const std::int8_t* row, uint32x4_t largest) {
  std::int32_t sum = 0;
  asm volatile(
      "dlstp.32 lr, %[count]\n"
      "1:\n\t"
      CORMORANT_EXPONENTIALS
      "vrshr.s32 q1, q1, #12\n\t"
      "vaddva.s32 %[sum], q1\n\t"
      "letp lr, 1b"
      : [sum] "+&Te"(sum), [row] "+&l"(row)
      : [table] "r"(p.exponentials), [count] "r"(p.row_size), [largest] "w"(largest), [byte] "w"(vdupq_n_u32(255))
      : "q0", "q1", "lr", "memory");
  return static_cast<std::uint32_t>(sum);
}

inline void normalize_by_table(const TablePlan& p, const std::int8_t* row, std::int8_t* out, uint32x4_t largest,
                               const Normalizer& by) {
  asm volatile(
      "dlstp.32 lr, %[count]\n"
      "1:\n\t"
      CORMORANT_EXPONENTIALS
      "vqrdmulh.s32 q1, q1, %[scale]\n\t"
      "vrshl.s32 q1, q1, %q[shift]\n\t"
      "vsub.i32 q1, q1, %[zero]\n\t"
      "vmin.s32 q1, q1, %q[top]\n\t"
      "vstrb.32 q1, [%[out]], #4\n\t"
      "letp lr, 1b"
      : [row] "+&l"(row), [out] "+&l"(out)
      : [table] "r"(p.exponentials), [count] "r"(p.row_size), [largest] "w"(largest), [byte] "w"(vdupq_n_u32(255)),
        [scale] "r"(by.scale), [shift] "w"(vdupq_n_s32(-by.shift)), [zero] "r"(128), [top] "w"(vdupq_n_s32(127))
      : "q0", "q1", "lr", "memory");
}
#undef CORMORANT_EXPONENTIALS
// clang-format on
static_assert(kSumBits == 12);

void execute_table(const void* plan) {
  const auto& p = *static_cast<const TablePlan*>(plan);
  if (p.inner != 1) {  // elements that are not neighbours are loaded one by one anyway
    table_softmax_rows<doubling_high_multiply>(p);
    return;
  }
  for_rows(p, [&](std::uint32_t at) {
    const std::int8_t* row = p.input + at;
    const std::int32_t largest = largest_of_neighbours(row, p.row_size);
    const uint32x4_t top = vdupq_n_u32(static_cast<std::uint8_t>(largest));
    std::uint32_t sum = sum_by_table(p, row, top);
    sum = std::max(sum, kLeastSum);
    normalize_by_table(p, row, p.out + at, top,
                       normalizer_of<doubling_high_multiply>(sum, std::countl_zero(sum), p.halvings));
  });
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_SOFTMAX_KERNELS, mve)

}  // namespace cormorant::ops::softmax
