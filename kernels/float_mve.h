// SPDX-License-Identifier: Apache-2.0
//
// MVE's float arithmetic is IEEE's, rounded to nearest, except that subnormal operands and results are flushed to zero
// (and all NaNs become the same one). The processor records when that happens, so a kernel can have both the speed and
// the bits: compute, check the flags, and if one is set compute again with scalar instructions, which handle
// subnormals.
#pragma once

#include <arm_mve.h>

#include <cstdint>

#include "kernels/broadcast.h"

namespace cormorant {

// FPSCR's cumulative flags: an operand was taken for zero (IDC), a result was (UFC).
inline constexpr std::uint32_t kFlushed = 1U << 7 | 1U << 3;

[[gnu::always_inline]] inline void forget_flushes() {
  std::uint32_t status;
  asm volatile("vmrs %0, fpscr\n" : "=r"(status) : : "memory");
  if ((status & kFlushed) == 0) return;
  asm volatile("vmsr fpscr, %0\n" : : "r"(status & ~kFlushed) : "memory");
}

// Whether there was a flush since. The results in question have been stored.
[[gnu::always_inline]] inline bool has_flushed() {
  std::uint32_t status;
  asm volatile("vmrs %0, fpscr\n" : "=r"(status) : : "memory");
  return (status & kFlushed) != 0;
}

// Whether there was a flush while these were computed, which are not stored yet.
[[gnu::always_inline]] inline bool has_flushed(float32x4_t& a, float32x4_t& b, float32x4_t& c, float32x4_t& d) {
  std::uint32_t status;
  asm volatile("vmrs %0, fpscr\n" : "=r"(status), "+w"(a), "+w"(b), "+w"(c), "+w"(d) : : "memory");
  return (status & kFlushed) != 0;
}

[[gnu::always_inline]] inline bool has_flushed(float32x4_t& a) {
  std::uint32_t status;
  asm volatile("vmrs %0, fpscr\n" : "=r"(status), "+w"(a) : : "memory");
  return (status & kFlushed) != 0;
}

// Elements one by one, in scalar instructions: the asm statement keeps the compiler from vectorizing the loop.
template <class F>
[[gnu::always_inline]] inline void map_scalar(const float* x, std::uint32_t x_step, const float* y,
                                              std::uint32_t y_step, float* out, std::uint32_t count, F f) {
  for (std::uint32_t i = 0; i < count; ++i) {
    float result = f(*x, *y);
    asm volatile("" : "+t"(result));
    out[i] = result;
    x += x_step;
    y += y_step;
  }
}

// out[i] = f(x[i], y[i]) on vectors or floats; x and y advance or, with a step of 0, repeat their one element. out may
// be x or y.
template <class F>
[[gnu::always_inline]] inline void map_floats(const float* x, std::uint32_t x_step, const float* y,
                                              std::uint32_t y_step, float* out, std::uint32_t count, F f) {
  const float32x4_t x_same = vdupq_n_f32(*x);
  const float32x4_t y_same = vdupq_n_f32(*y);
  const auto vector = [](const float* from, std::uint32_t step, float32x4_t same) {
    return step == 0 ? same : vld1q_f32(from);
  };
  forget_flushes();
  for (; count >= 16; count -= 16, x += 16 * x_step, y += 16 * y_step, out += 16) {
    float32x4_t a = f(vector(x, x_step, x_same), vector(y, y_step, y_same));
    float32x4_t b = f(vector(x + 4, x_step, x_same), vector(y + 4, y_step, y_same));
    float32x4_t c = f(vector(x + 8, x_step, x_same), vector(y + 8, y_step, y_same));
    float32x4_t d = f(vector(x + 12, x_step, x_same), vector(y + 12, y_step, y_same));
    if (has_flushed(a, b, c, d)) {
      map_scalar(x, x_step, y, y_step, out, 16, f);
      forget_flushes();
      continue;
    }
    vst1q_f32(out, a);
    vst1q_f32(out + 4, b);
    vst1q_f32(out + 8, c);
    vst1q_f32(out + 12, d);
  }
  map_scalar(x, x_step, y, y_step, out, count, f);
}

// The same for each stretch of a broadcast. One loop for each way in which operands repeat, so that none has to check.
template <class F>
inline void map_broadcast(const Broadcast& p, F f) {
  for_each_stretch<float>(p, [&](const float* self, const float* other, float* out) {
    if (p.self_repeats) {
      map_floats(self, 0, other, p.other_repeats ? 0 : 1, out, p.count, f);
    } else if (p.other_repeats) {
      map_floats(self, 1, other, 0, out, p.count, f);
    } else {
      map_floats(self, 1, other, 1, out, p.count, f);
    }
  });
}

}  // namespace cormorant
