// SPDX-License-Identifier: Apache-2.0
//
// Sixteen channels per turn. A window of two by two, the most common one, reads its four taps together in one loop over
// the channels; others walk over the taps for every sixteen channels. A single channel whose taps are adjacent takes
// sixteen taps at a time.
#include <arm_mve.h>

#include "kernels/window.h"

namespace cormorant {
namespace {

// As C++, per turn: max of low and four loads; min with high; store. All windows of the row in one loop.
void max_of_fours(const Window& w, std::int32_t low, std::int32_t high) {
  const std::int8_t* a = w.input;
  const std::int8_t *b, *c, *d;
  std::int8_t* to = w.output;
  std::uint32_t windows = w.more + 1;
  const auto whole = static_cast<std::int32_t>((w.channels + 15) & ~15U);  // how far a loop over the channels advances
  asm volatile(
      "3: add %[b], %[a], %[across]\n"
      "add %[c], %[a], %[down]\n"
      "add %[d], %[b], %[down]\n"
      "wlstp.8 lr, %[channels], 2f\n"
      "1: vldrb.u8 q0, [%[a]], #16\n"
      "vmax.s8 q0, q0, %q[low]\n"
      "vldrb.u8 q1, [%[b]], #16\n"
      "vmax.s8 q0, q0, q1\n"
      "vldrb.u8 q1, [%[c]], #16\n"
      "vmax.s8 q0, q0, q1\n"
      "vldrb.u8 q1, [%[d]], #16\n"
      "vmax.s8 q0, q0, q1\n"
      "vmin.s8 q0, q0, %q[high]\n"
      "vstrb.8 q0, [%[to]], #16\n"
      "letp lr, 1b\n"
      "2: add %[a], %[ahead]\n"
      "add %[to], %[back]\n"
      "subs %[windows], #1\n"
      "bne 3b\n"
      : [a] "+&r"(a), [b] "=&r"(b), [c] "=&r"(c), [d] "=&r"(d), [to] "+&r"(to), [windows] "+&r"(windows)
      : [channels] "r"(w.channels), [low] "w"(vdupq_n_s8(static_cast<std::int8_t>(low))),
        [high] "w"(vdupq_n_s8(static_cast<std::int8_t>(high))), [across] "r"(w.column_step), [down] "r"(w.row_step),
        [ahead] "r"(w.next - whole), [back] "r"(static_cast<std::int32_t>(w.channels) - whole)
      : "q0", "q1", "lr", "cc", "memory");
}

// for (; columns != 0; --columns, tap += step) largest = vmaxq_s8(largest, vldrbq_s8(tap));
inline int8x16_t max_of_row(int8x16_t largest, const std::int8_t* tap, std::uint32_t columns, std::int32_t step) {
  asm volatile(
      "wls lr, %[columns], 2f\n"
      "1: vldrb.u8 q0, [%[tap]]\n"
      "add %[tap], %[step]\n"
      "vmax.s8 %q[largest], %q[largest], q0\n"
      "le lr, 1b\n"
      "2:\n"
      : [tap] "+&r"(tap), [largest] "+&w"(largest)
      : [columns] "r"(columns), [step] "r"(step)
      : "q0", "lr", "memory");
  return largest;
}

// The same for fewer than sixteen; with intrinsics, since assembly cannot say that it changes the predicate.
inline int8x16_t max_of_row_tail(int8x16_t largest, const std::int8_t* tap, std::uint32_t columns, std::int32_t step,
                                 mve_pred16_t channels) {
  for (; columns != 0; --columns, tap += step) largest = vmaxq_s8(largest, vldrbq_z_s8(tap, channels));
  return largest;
}

// Adjacent taps.
inline std::int32_t max_of_run(std::int32_t largest, const std::int8_t* tap, std::uint32_t count) {
  asm volatile(
      "wlstp.8 lr, %[count], 2f\n"
      "1: vldrb.u8 q0, [%[tap]], #16\n"
      "vmaxv.s8 %[largest], q0\n"
      "letp lr, 1b\n"
      "2:\n"
      : [tap] "+&r"(tap), [largest] "+&r"(largest)
      : [count] "r"(count)
      : "q0", "lr", "memory");
  return static_cast<std::int8_t>(largest);
}

}  // namespace

void window_max_mve(const Window& window, std::int32_t low, std::int32_t high) {
  Window row = window;
  if (row.rows == 2 && row.columns == 2 && row.channels > 1) return max_of_fours(row, low, high);
  join_rows(row);
  if (row.channels == 1 && row.column_step == 1) {
    return for_each_following(row, [&](const Window& w) {
      std::int32_t largest = low;
      const std::int8_t* taps = w.input;
      for (std::uint32_t y = w.rows; y != 0; --y, taps += w.row_step) largest = max_of_run(largest, taps, w.columns);
      *w.output = static_cast<std::int8_t>(largest > high ? high : largest);
    });
  }
  for_each_following(row, [&](const Window& w) {
    for (std::uint32_t c = 0; c < w.channels; c += 16) {
      const std::uint32_t left = w.channels - c;
      const mve_pred16_t mask = vctp8q(left);
      int8x16_t largest = vdupq_n_s8(static_cast<std::int8_t>(low));
      const std::int8_t* taps = w.input + c;
      for (std::uint32_t y = w.rows; y != 0; --y, taps += w.row_step) {
        largest = left >= 16 ? max_of_row(largest, taps, w.columns, w.column_step)
                             : max_of_row_tail(largest, taps, w.columns, w.column_step, mask);
      }
      vstrbq_p_s8(w.output + c, vminq_s8(largest, vdupq_n_s8(static_cast<std::int8_t>(high))), mask);
    }
  });
}

}  // namespace cormorant
