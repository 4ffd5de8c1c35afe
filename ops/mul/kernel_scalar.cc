// SPDX-License-Identifier: Apache-2.0
#include "base/fixed_point.h"
#include "kernels/frame.h"
#include "kernels/linear_requantize.h"
#include "kernels/requantize.h"
#include "ops/mul/kernel.h"

namespace cormorant::ops::mul {
namespace {

#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB < 2

// ARMv6-M has no long multiply, but a product of two differences is 16 bits and a sign: the high half of its product
// with the multiplier takes two multiplications. Both roundings of requantize_simply() are away from zero; on
// magnitudes they are one sum and one shift, and the sign is restored at the end.
struct NarrowLoop {
  const std::int8_t* self;  // after their last elements
  const std::int8_t* other;
  std::int8_t* out;
  std::int32_t begin;  // −count
  std::int32_t self_offset;
  std::int32_t other_offset;
  std::uint32_t low, high;  // halves of the multiplier
  std::uint32_t rounding;
  std::uint32_t right;
  std::int32_t output_offset;
};

// As C++, per element:
//   product = (self + self_offset) · (other + other_offset);  sign = product < 0 ? −1 : 0;  m = |product|
//   level = (m · high + ((m · low + (sign >>> 16)) >>> 16) + sign + rounding) >>> right
//   out = saturated((level ^ sign) − sign + output_offset)
// (An exact tie goes up if the product is negative: one is subtracted before the half is added.)
[[gnu::naked, gnu::noinline]] void multiply_narrow(const NarrowLoop* /*loop: r0*/) {
  asm volatile(
      ".syntax unified\n"
      CORMORANT_PUSH_R4_R7_LR
      "mov r1, r8\n"
      "mov r2, r9\n"
      "mov r3, r10\n"
      "mov r4, r11\n"
      "push {r1-r4}\n"
      CORMORANT_CFI("adjust_cfa_offset 16") CORMORANT_CFI_R8_R11("0")
      "ldr r1, [r0, #8]\n"
      "push {r1}\n"
      CORMORANT_CFI("adjust_cfa_offset 4")
      "ldr r1, [r0]\n"
      "mov r12, r1\n"
      "ldr r1, [r0, #4]\n"
      "mov lr, r1\n"
      "ldr r7, [r0, #12]\n"
      "ldr r1, [r0, #16]\n"
      "mov r8, r1\n"
      "ldr r1, [r0, #20]\n"
      "mov r9, r1\n"
      "ldr r4, [r0, #24]\n"
      "ldr r5, [r0, #28]\n"
      "ldr r1, [r0, #32]\n"
      "mov r10, r1\n"
      "ldr r6, [r0, #36]\n"
      "ldr r1, [r0, #40]\n"
      "mov r11, r1\n"
      "1:\n"
      "mov r0, r12\n"
      "ldrsb r0, [r0, r7]\n"
      "mov r1, lr\n"
      "ldrsb r1, [r1, r7]\n"
      "add r0, r8\n"
      "add r1, r9\n"
      "muls r0, r1, r0\n"
      "asrs r1, r0, #31\n"
      "eors r0, r0, r1\n"
      "subs r0, r0, r1\n"
      "movs r2, r0\n"
      "muls r2, r4, r2\n"
      "lsrs r3, r1, #16\n"
      "adds r2, r2, r3\n"
      "lsrs r2, r2, #16\n"
      "muls r0, r5, r0\n"
      "adds r0, r0, r2\n"
      "adds r0, r0, r1\n"
      "add r0, r10\n"
      "lsrs r0, r0, r6\n"
      "eors r0, r0, r1\n"
      "subs r0, r0, r1\n"
      "add r0, r11\n"
      "sxtb r1, r0\n"
      "cmp r1, r0\n"
      "bne 3f\n"
      "2:\n"
      "ldr r1, [sp]\n"
      "strb r0, [r1, r7]\n"
      "adds r7, r7, #1\n"
      "bne 1b\n"
      CORMORANT_CFI_LEAVING
      "pop {r1-r5}\n"
      CORMORANT_CFI("adjust_cfa_offset -20")
      "mov r8, r2\n"
      "mov r9, r3\n"
      "mov r10, r4\n"
      "mov r11, r5\n"
      "pop {r4-r7, pc}\n"
      CORMORANT_CFI_LEFT
      "3:\n"
      "asrs r0, r0, #31\n"
      "movs r1, #127\n"
      "eors r0, r0, r1\n"
      "b 2b\n");
}

bool is_int8(std::int32_t value) { return value >= -128 && value <= 127; }

// Programs of other compilers may have any zero points.
bool is_narrow(const Plan& p) {
  return p.is_simple() && is_int8(p.self_zero_point) && is_int8(p.other_zero_point) && p.activation_min == -128 &&
         p.activation_max == 127 && !p.tensors.other_repeats;
}

void multiply_narrow(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const auto& p = *static_cast<const Plan*>(plan);
  const std::uint32_t count = p.tensors.count;
  if (count == 0) return;
  const auto multiplier = static_cast<std::uint32_t>(p.multiplier);
  const auto right = static_cast<std::uint32_t>(15 - p.shift);
  const bool vanishes = right > 31;  // as all products then do
  const NarrowLoop loop = {.self = self + count,
                           .other = other + count,
                           .out = out + count,
                           .begin = -static_cast<std::int32_t>(count),
                           .self_offset = -p.self_zero_point,
                           .other_offset = -p.other_zero_point,
                           .low = vanishes ? 0 : multiplier & 0xffff,
                           .high = vanishes ? 0 : multiplier >> 16,
                           .rounding = vanishes ? 1 : (1U << 14) + (1U << (right - 1)),
                           .right = vanishes ? 31 : right,
                           .output_offset = p.output_zero_point};
  multiply_narrow(&loop);
}

#else

bool is_narrow(const Plan& /*plan*/) { return false; }
void multiply_narrow(const void* /*plan*/, const std::int8_t* /*self*/, const std::int8_t* /*other*/,
                     std::int8_t* /*out*/) {}

#endif

template <bool kSimple, bool kRepeats>
void multiply(const void* plan, const std::int8_t* self, const std::int8_t* other, std::int8_t* out) {
  const Plan p = *static_cast<const Plan*>(plan);  // in registers: a store to out could otherwise change it
  const std::int32_t low = p.activation_min - p.output_zero_point;
  const std::int32_t high = p.activation_max - p.output_zero_point;
  std::int32_t y = *other - p.other_zero_point;
  for (std::uint32_t i = 0; i < p.tensors.count; ++i) {
    if constexpr (!kRepeats) y = other[i] - p.other_zero_point;
    const std::int32_t product = (self[i] - p.self_zero_point) * y;
    const std::int32_t level = kSimple ? requantize_simply(product, p.multiplier, p.shift)
                                       : requantize_for_cpu(product, p.multiplier, p.shift);
    out[i] = static_cast<std::int8_t>(clamp(level, low, high) + p.output_zero_point);
  }
}

void execute(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  if (is_narrow(p)) return run_stretches(p.tensors, multiply_narrow, plan);
  const ComputeStretch one = p.is_simple() ? multiply<true, true> : multiply<false, true>;
  const ComputeStretch each = p.is_simple() ? multiply<true, false> : multiply<false, false>;
  run_stretches(p.tensors, p.tensors.other_repeats ? one : each, plan);
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_MUL_KERNELS, scalar)

}  // namespace cormorant::ops::mul
