// SPDX-License-Identifier: Apache-2.0
//
// Sixteen channels per turn. A window of two by two, the most common one, reads its four taps side by side in one loop
// over the channels; others walk over the taps for each sixteen channels. A single channel whose taps lie side by side
// takes sixteen taps at a time.
#include <arm_mve.h>

#include "kernels/window.h"

namespace cormorant {
namespace {

// As C++, per turn: max of four loads, of low; min of high; store.
void max_of_four(const Window& w, std::int32_t low, std::int32_t high) {
  const std::int8_t* a = w.input;
  const std::int8_t* b = a + w.column_step;
  const std::int8_t* c = a + w.row_step;
  const std::int8_t* d = b + w.row_step;
  std::int8_t* to = w.output;
  asm volatile(
      "vdup.8 q2, %[low]\n"
      "vdup.8 q3, %[high]\n"
      "wlstp.8 lr, %[channels], 2f\n"
      "1: vldrb.u8 q0, [%[a]], #16\n"
      "vmax.s8 q0, q0, q2\n"
      "vldrb.u8 q1, [%[b]], #16\n"
      "vmax.s8 q0, q0, q1\n"
      "vldrb.u8 q1, [%[c]], #16\n"
      "vmax.s8 q0, q0, q1\n"
      "vldrb.u8 q1, [%[d]], #16\n"
      "vmax.s8 q0, q0, q1\n"
      "vmin.s8 q0, q0, q3\n"
      "vstrb.8 q0, [%[to]], #16\n"
      "letp lr, 1b\n"
      "2:\n"
      : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [to] "+r"(to)
      : [channels] "r"(w.channels), [low] "r"(low), [high] "r"(high)
      : "q0", "q1", "q2", "q3", "lr", "memory");
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
      : [tap] "+r"(tap), [largest] "+w"(largest)
      : [columns] "r"(columns), [step] "r"(step)
      : "q0", "lr", "memory");
  return largest;
}

// The same for some of the sixteen; with intrinsics, since assembly cannot say that it changes the predicate.
inline int8x16_t max_of_row_tail(int8x16_t largest, const std::int8_t* tap, std::uint32_t columns, std::int32_t step,
                                 mve_pred16_t channels) {
  for (; columns != 0; --columns, tap += step) largest = vmaxq_s8(largest, vldrbq_z_s8(tap, channels));
  return largest;
}

// Taps side by side.
inline std::int32_t max_of_run(std::int32_t largest, const std::int8_t* tap, std::uint32_t count) {
  asm volatile(
      "wlstp.8 lr, %[count], 2f\n"
      "1: vldrb.u8 q0, [%[tap]], #16\n"
      "vmaxv.s8 %[largest], q0\n"
      "letp lr, 1b\n"
      "2:\n"
      : [tap] "+r"(tap), [largest] "+r"(largest)
      : [count] "r"(count)
      : "q0", "lr", "memory");
  return static_cast<std::int8_t>(largest);
}

}  // namespace

void window_max_mve(const Window& window, std::int32_t low, std::int32_t high) {
  Window w = window;
  if (w.rows == 2 && w.columns == 2 && w.channels > 1) return max_of_four(w, low, high);
  join_rows(w);
  if (w.channels == 1 && w.column_step == 1) {
    std::int32_t largest = low;
    for (std::uint32_t y = 0; y < w.rows; ++y, w.input += w.row_step) largest = max_of_run(largest, w.input, w.columns);
    *w.output = static_cast<std::int8_t>(largest > high ? high : largest);
    return;
  }
  for (std::uint32_t c = 0; c < w.channels; c += 16) {
    const std::uint32_t left = w.channels - c;
    const mve_pred16_t mask = vctp8q(left);
    int8x16_t largest = vdupq_n_s8(static_cast<std::int8_t>(low));
    const std::int8_t* row = w.input + c;
    for (std::uint32_t y = w.rows; y != 0; --y, row += w.row_step) {
      largest = left >= 16 ? max_of_row(largest, row, w.columns, w.column_step)
                           : max_of_row_tail(largest, row, w.columns, w.column_step, mask);
    }
    vstrbq_p_s8(w.output + c, vminq_s8(largest, vdupq_n_s8(static_cast<std::int8_t>(high))), mask);
  }
}

}  // namespace cormorant
