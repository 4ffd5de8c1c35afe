// SPDX-License-Identifier: Apache-2.0
//
// Four channels at a time: SXTB16 splits a word of inputs and one of weights into halves, of which SMLABB and SMLATT
// multiply the lower and the upper ones. 11 instructions for 4 products; the accumulators are then requantized in
// place.
#include <cstddef>

#include "kernels/conv_depthwise.h"
#include "kernels/requantize.h"

namespace cormorant::conv {

static_assert(offsetof(DepthwisePixel, stream) == 0 && offsetof(DepthwisePixel, taps) == 4);
static_assert(offsetof(DepthwisePixel, tap_count) == 8 && offsetof(DepthwisePixel, channels) == 12);
static_assert(offsetof(DepthwisePixel, out) == 16 && offsetof(DepthwisePixel, output.offset) == 20 &&
              offsetof(DepthwisePixel, shift) == 36);

// Registers: r0 … r3 sums, r4 taps, r5 end of the taps, r6 … r10 inputs and weights, r11 shift and channel, r12 stream,
// lr out. Then: r4 2 · offset + 1, r5 … r8 multipliers, r9 shifts − 1, one per byte, r10 rounding and offset. Stack: 0
// taps, 4 end of taps, 8 the end of r11, 12 2 · offset + 1.

// clang-format off
#define TAP                           \
  "ldr r6, [r4], #4\n"                \
  "ldr r7, [r12], #4\n"               \
  "ldr r6, [r6, r11]\n"               \
  "sxtb16 r10, r7\n"                  \
  "sxtb16 r7, r7, ror #8\n"           \
  "sxtb16 r8, r6\n"                   \
  "sxtb16 r9, r6, ror #8\n"           \
  "smlabb r0, r8, r10, r0\n"          \
  "smlabb r1, r9, r7, r1\n"           \
  "smlatt r2, r8, r10, r2\n"          \
  "smlatt r3, r9, r7, r3\n"

// See conv_gemm_dsp.cc. Shifts by a register take its lowest byte: the next channel's comes by shifting all of them.
#define RESULT(sum, multiplier)       \
  "lsl " sum ", " sum ", #1\n"        \
  "smmulr " sum ", " sum ", " multiplier "\n" \
  "lsl r10, r4, r9\n"                 \
  "add " sum ", " sum ", " sum ", asr #31\n" \
  "add " sum ", " sum ", r10\n"       \
  "asr " sum ", " sum ", r9\n"        \
  "lsr r9, r9, #8\n"                  \
  "ssat " sum ", #8, " sum ", asr #1\n" \
  "strb " sum ", [lr], #1\n"

extern "C" __attribute__((naked)) void cormorant_depthwise_pixel_dsp(const DepthwisePixel* /*pixel*/) {
  asm volatile(
      "push {r4-r11, lr}\n"
      "sub sp, sp, #20\n"
      "ldrd r12, r4, [r0]\n"
      "ldrd r5, r6, [r0, #8]\n"
      "ldrd lr, r7, [r0, #16]\n"
      "add r5, r4, r5, lsl #2\n"
      "bic r6, r6, #3\n"
      "ldr r11, [r0, #36]\n"
      "add r6, r6, r11\n"
      "lsl r7, r7, #1\n"
      "add r7, r7, #1\n"
      "strd r4, r5, [sp]\n"
      "strd r6, r7, [sp, #8]\n"
      "1:\n"
      "ldm r12!, {r0-r3}\n"
      "ldrd r4, r5, [sp]\n"
      "b 3f\n"
      "2:\n"                           // three at a time, while there are three
      TAP TAP TAP
      "3:\n"
      "add r6, r4, #12\n"
      "cmp r6, r5\n"
      "bls 2b\n"
      "b 5f\n"
      "4:\n"
      TAP
      "5:\n"
      "cmp r4, r5\n"
      "bne 4b\n"
      "ldm r12!, {r5-r8}\n"
      "ldr r9, [r12], #8\n"
      "ldr r4, [sp, #12]\n"
      "mvn r9, r9\n"
      RESULT("r0", "r5") RESULT("r1", "r6") RESULT("r2", "r7") RESULT("r3", "r8")
      "ldr r4, [sp, #8]\n"
      "add r11, r11, #4\n"
      "cmp r11, r4\n"
      "bne 1b\n"
      "add sp, sp, #20\n"
      "pop {r4-r11, pc}\n");
}
// clang-format on

void depthwise_pixel_plain_dsp(const DepthwisePixel& p, std::uint32_t first) {
  const std::uint32_t record = 4 * (4 + p.tap_count + 4 + 2);
  const std::uint8_t* stream = p.stream + first / 4 * record;
  for (std::uint32_t block = first; block < p.channels; block += 4, stream += record) {
    const auto* bias = reinterpret_cast<const std::int32_t*>(stream);
    const auto* multipliers = reinterpret_cast<const std::int32_t*>(stream + 16 + 4 * p.tap_count);
    const auto* shifts = reinterpret_cast<const std::int8_t*>(stream + 32 + 4 * p.tap_count);
    const std::uint32_t lanes = p.channels - block < 4 ? p.channels - block : 4;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      std::int32_t sum = bias[lane];
      const auto* weights = reinterpret_cast<const std::int8_t*>(stream + 16 + lane);
      for (std::uint32_t tap = 0; tap < p.tap_count; ++tap, weights += 4)
        sum += p.taps[tap][p.shift + block + lane] * *weights;
      const std::int32_t value =
          requantize_for_cpu(sum, multipliers[lane], shifts[lane] + shifts[4 + lane]) + p.output.offset;
      p.out[block + lane] = static_cast<std::int8_t>(clamp(value, p.output.min, p.output.max));
    }
  }
}

}  // namespace cormorant::conv
