// SPDX-License-Identifier: Apache-2.0
//
// Four output features share each load of an input: as many as ARMv6-M's eight low registers allow. Weights are
// unsigned bytes (linear.h), so that every load has an immediate offset there and needs no extension.
#include <type_traits>

#include "base/fixed_point.h"
#include "kernels/frame.h"
#include "kernels/linear_requantize.h"
#include "kernels/products_scalar.h"
#include "ops/linear/kernel.h"

namespace cormorant::ops::linear {
namespace {

// requantize_simply, in 28 instructions where there is no long multiply: carries take the place of masks.
template <bool kLong>
inline std::int32_t requantize_quickly(std::int32_t sum, std::int32_t multiplier, std::int32_t shift) {
  if constexpr (kLong) {
    return requantize_simply(sum, multiplier, shift);
  } else {
    std::int32_t low;
    std::int32_t high;
    std::int32_t product;
    asm(".syntax unified\n\t"
        "uxth %[low], %[sum]\n\t"  // sum and multiplier in halves, the upper one of the sum with its sign
        "asrs %[sum], %[sum], #16\n\t"
        "lsrs %[high], %[multiplier], #16\n\t"
        "uxth %[multiplier], %[multiplier]\n\t"
        "movs %[product], %[low]\n\t"
        "muls %[product], %[multiplier], %[product]\n\t"
        "lsrs %[product], %[product], #16\n\t"
        "muls %[multiplier], %[sum], %[multiplier]\n\t"
        "adds %[product], %[product], %[multiplier]\n\t"
        "muls %[low], %[high], %[low]\n\t"
        "muls %[sum], %[high], %[sum]\n\t"
        "asrs %[high], %[product], #16\n\t"
        "adds %[sum], %[sum], %[high]\n\t"
        "uxth %[product], %[product]\n\t"
        "adds %[low], %[low], %[product]\n\t"
        "lsrs %[product], %[low], #16\n\t"
        "adds %[sum], %[sum], %[product]\n\t"  // the product's bits from 32 up; bits 31 and 30 are 15 and 14 of low
        "movs %[product], #0\n\t"
        "lsls %[low], %[low], #17\n\t"
        "adcs %[sum], %[sum], %[sum]\n\t"
        "lsls %[low], %[low], #1\n\t"
        "adcs %[sum], %[sum], %[product]\n\t"
        "asrs %[low], %[sum], #31\n\t"
        "adds %[sum], %[sum], %[low]\n\t"
        "rsbs %[shift], %[shift], #0\n\t"
        "asrs %[sum], %[sum], %[shift]\n\t"  // leaves the rounding bit as the carry
        "adcs %[sum], %[sum], %[product]"
        : [sum] "+l"(sum), [multiplier] "+l"(multiplier), [shift] "+l"(shift), [low] "=&l"(low), [high] "=&l"(high),
          [product] "=&l"(product)
        :
        : "cc");
    return sum;
  }
}

// What follows a sum. A copy of the header's fields, for registers: a byte store could change the header.
struct Finish {
  std::int32_t offset, min, max;
  bool simple;

  explicit Finish(const PackedHeader& h)
      : offset(h.output_offset),
        min(h.activation_min),
        max(h.activation_max),
        simple((h.flags & kSimpleRequantize) != 0) {}
  [[nodiscard]] std::int8_t operator()(std::int32_t sum, std::int32_t multiplier, std::int32_t shift) const {
    const std::int32_t scaled = simple ? requantize_quickly<kHasLongMultiply>(sum, multiplier, shift)
                                       : requantize_for_cpu(sum, multiplier, shift);
    return static_cast<std::int8_t>(clamp(scaled + offset, min, max));
  }
};

// Four features; returns the next record.
inline const std::uint8_t* run_group(const Finish& finish, std::uint32_t inputs, const std::uint8_t* record,
                                     const std::int8_t* x, const std::int8_t* end, std::int32_t excess,
                                     std::int8_t* out) {
  const auto* bias = reinterpret_cast<const std::int32_t*>(record);
  ScalarProducts group{.sums = {bias[0] - excess, bias[1] - excess, bias[2] - excess, bias[3] - excess},
                       .x = x,
                       .weights = record + 16,
                       .end = x + inputs / kScalarTaps * kScalarTaps};
  if (group.x < group.end) cormorant_products_scalar(&group);
  for (; group.x < end; ++group.x, group.weights += 4) {
    for (std::uint32_t n = 0; n < 4; ++n) group.sums[n] += *group.x * group.weights[n];
  }
  const auto* multiplier = reinterpret_cast<const std::int32_t*>(group.weights);
  const auto* shift = reinterpret_cast<const std::int8_t*>(group.weights + 16);
#pragma GCC unroll 1
  for (std::uint32_t n = 0; n < 4; ++n) out[n] = finish(group.sums[n], multiplier[n], shift[n]);
  return group.weights + 20;
}

inline const std::uint8_t* run_single(const Finish& finish, std::uint32_t inputs, const std::uint8_t* record,
                                      const std::int8_t* x, const std::int8_t* end, std::int8_t* out) {
  std::int32_t sum = *reinterpret_cast<const std::int32_t*>(record);
  const auto* weights = reinterpret_cast<const std::int8_t*>(record + 4);
  for (; x < end; ++x) sum += *x * *weights++;
  record += 4 + round_up_4(inputs);
  *out = finish(sum, *reinterpret_cast<const std::int32_t*>(record), static_cast<std::int8_t>(record[4]));
  return record + 8;
}

void execute_packed(const void* plan) {
  const auto& p = *static_cast<const PackedPlan*>(plan);
  const Finish finish(p.header());
  const std::uint32_t inputs = p.header().inputs;
  const std::uint32_t outputs = p.header().outputs;
  const std::int8_t* x = p.input;
  std::int8_t* out = p.out;
  for (std::uint32_t row = 0; row < p.rows; ++row, x += inputs) {
    const std::int8_t* const end = x + inputs;
    std::int32_t excess = 0;  // of weights stored + 128
    for (const std::int8_t* value = x; value < end; ++value) excess += 128 * *value;
    const auto* record = reinterpret_cast<const std::uint8_t*>(p.packed) + sizeof(PackedHeader);
    for (std::uint32_t group = outputs / 4; group > 0; --group, out += 4) {
      record = run_group(finish, inputs, record, x, end, excess, out);
    }
    for (std::uint32_t single = outputs % 4; single > 0; --single, ++out) {
      record = run_single(finish, inputs, record, x, end, out);
    }
  }
}

// Rows of an unpacked program's weight that share the loads of inputs.
constexpr std::uint32_t kRows = 4;

struct Rows {
  std::int32_t sums[kRows];
  const std::int8_t* x;
  const std::int8_t* weights;
  std::uint32_t inputs;  // of a row, at least one
  std::int32_t offset;
};

// sums[n] += Σ (x[k] + offset) · weights[n · inputs + k].
struct Thumb2Rows {
  static void accumulate(Rows* rows) {
    const std::int8_t* x = rows->x;
    const std::int8_t* const end = x + rows->inputs;
    const std::int8_t* w[kRows];
    std::int32_t sums[kRows];
#pragma GCC unroll 4
    for (std::uint32_t n = 0; n < kRows; ++n) {
      w[n] = rows->weights + n * rows->inputs;
      sums[n] = rows->sums[n];
    }
    const std::int32_t offset = rows->offset;
    do {
      const std::int32_t value = *x++ + offset;
#pragma GCC unroll 4
      for (std::uint32_t n = 0; n < kRows; ++n) sums[n] += value * *w[n]++;
    } while (x != end);
#pragma GCC unroll 4
    for (std::uint32_t n = 0; n < kRows; ++n) rows->sums[n] = sums[n];
  }
};

// The same in ARMv6-M's instructions, 17 for 4 products. All pointers point to the ends of their rows and are indexed
// by a negative number. Registers: r0 inputs, r1 r2 r4 r5 weights, r3 index, r8 … r11 sums, r12 offset.
struct V6mRows {
  [[gnu::naked, gnu::noinline]] static void accumulate(Rows* /*rows: r0*/) {
    // clang-format off
#define CORMORANT_PRODUCT(sum, row)     \
  "ldrsb r7, [" #row ", r3]\n\t"        \
  "muls r7, r6, r7\n\t"                \
  "add " #sum ", " #sum ", r7\n\t"
    asm volatile(".syntax unified\n\t"
                 CORMORANT_PUSH_R4_R7_LR
                 "mov r4, r8\n\t"
                 "mov r5, r9\n\t"
                 "mov r6, r10\n\t"
                 "mov r7, r11\n\t"
                 "push {r0, r4-r7}\n\t"
                 CORMORANT_CFI("adjust_cfa_offset 20") CORMORANT_CFI_R8_R11("4")
                 "ldmia r0!, {r4-r7}\n\t"
                 "mov r8, r4\n\t"
                 "mov r9, r5\n\t"
                 "mov r10, r6\n\t"
                 "mov r11, r7\n\t"
                 "ldmia r0!, {r1-r4}\n\t"
                 "mov r12, r4\n\t"
                 "adds r0, r1, r3\n\t"
                 "adds r1, r2, r3\n\t"
                 "adds r2, r1, r3\n\t"
                 "adds r4, r2, r3\n\t"
                 "adds r5, r4, r3\n\t"
                 "rsbs r3, r3, #0\n"
                 "1:\n\t"
                 "ldrsb r6, [r0, r3]\n\t"
                 "add r6, r6, r12\n\t"
                 CORMORANT_PRODUCT(r8, r1)
                 CORMORANT_PRODUCT(r9, r2)
                 CORMORANT_PRODUCT(r10, r4)
                 CORMORANT_PRODUCT(r11, r5)
                 "adds r3, r3, #1\n\t"
                 "bne 1b\n\t"
                 "pop {r0}\n\t"
                 CORMORANT_CFI("adjust_cfa_offset -4")
                 "mov r4, r8\n\t"
                 "mov r5, r9\n\t"
                 "mov r6, r10\n\t"
                 "mov r7, r11\n\t"
                 "stmia r0!, {r4-r7}\n\t"
                 CORMORANT_POP_R4_R11_PC_V6M);
#undef CORMORANT_PRODUCT
    // clang-format on
  }
};
using RowLoop = std::conditional_t<kHasLongMultiply, Thumb2Rows, V6mRows>;

void execute(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  Rows rows{.sums = {}, .x = p.input, .weights = p.weights, .inputs = p.inputs, .offset = p.input_offset};
  std::int8_t* out = p.out;
  for (std::uint32_t row = 0; row < p.rows; ++row, rows.x += p.inputs) {
    rows.weights = p.weights;
    for (std::uint32_t n = 0; n < p.outputs;) {
      const std::uint32_t count = p.outputs - n < kRows ? 1 : kRows;
      for (std::uint32_t i = 0; i < count; ++i) rows.sums[i] = p.bias == nullptr ? 0 : p.bias[n + i];
      if (count == kRows) {
        RowLoop::accumulate(&rows);
      } else {
        for (std::uint32_t k = 0; k < p.inputs; ++k) rows.sums[0] += (rows.x[k] + rows.offset) * rows.weights[k];
      }
      for (std::uint32_t i = 0; i < count; ++i) {
        const std::int32_t level = requantize_for_cpu(rows.sums[i], p.multiplier, p.shift) + p.output_offset;
        *out++ = static_cast<std::int8_t>(clamp(level, p.activation_min, p.activation_max));
      }
      rows.weights += count * p.inputs;
      n += count;
    }
  }
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_LINEAR_KERNELS, scalar)

}  // namespace cormorant::ops::linear
