// SPDX-License-Identifier: Apache-2.0
//
// Four places of four outputs at a time, or 16 places of one. The lanes are places: each has the order of additions of
// kernels/float_sums.h, with separate products and sums. Where taps are in the padding, places are not neighbours in
// the input, or fewer than four are left, lanes gather by column, and those whose column is outside take no part.
//
// Predicates are only used inside one asm statement: neither compiler can be told that it changes them.
#include <arm_mve.h>

#include "kernels/float_mve.h"
#include "kernels/float_sums.h"
#include "kernels/vpr.h"

namespace cormorant {
namespace {

constexpr std::int32_t kBytes = sizeof(float);

// What a tile's loops need, steps in bytes.
struct Steps {
  std::int32_t taps, x, column, weight, output, thrice, in_output;
};

struct Four {
  float32x4_t a, b, c, d;
};

// Neighbours whose taps are all inside.
[[gnu::always_inline]] inline void add_taps(Four& s, const char* x, const char* w, const Steps& step) {
  float32x4_t in, t, u;
  std::uint32_t w0, w1, w2, w3;
  asm volatile(
      "dls lr, %[taps]\n"
      "1:\n"
      "vldrw.u32 %q[in], [%[x]]\n"
      "ldr %[w0], [%[w]]\n"
      "ldr %[w1], [%[w], %[o1]]\n"
      "vmul.f32 %q[t], %q[in], %[w0]\n"
      "ldr %[w2], [%[w], %[o1], lsl #1]\n"
      "vmul.f32 %q[u], %q[in], %[w1]\n"
      "ldr %[w3], [%[w], %[o3]]\n"
      "vadd.f32 %q[a], %q[a], %q[t]\n"
      "add %[x], %[x], %[xs]\n"
      "vmul.f32 %q[t], %q[in], %[w2]\n"
      "vadd.f32 %q[b], %q[b], %q[u]\n"
      "add %[w], %[w], %[ws]\n"
      "vmul.f32 %q[u], %q[in], %[w3]\n"
      "vadd.f32 %q[c], %q[c], %q[t]\n"
      "vadd.f32 %q[d], %q[d], %q[u]\n"
      "le lr, 1b\n"
      : [a] "+&w"(s.a), [b] "+&w"(s.b), [c] "+&w"(s.c), [d] "+&w"(s.d), [in] "=&w"(in), [t] "=&w"(t), [u] "=&w"(u),
        [x] "+&r"(x), [w] "+&r"(w), [w0] "=&r"(w0), [w1] "=&r"(w1), [w2] "=&r"(w2), [w3] "=&r"(w3)
      : [taps] "r"(step.taps), [xs] "r"(step.x), [ws] "r"(step.weight), [o1] "r"(step.output), [o3] "r"(step.thrice)
      : "lr", "memory");
}

// Lanes at columns `at` of x, below `size`.
[[gnu::always_inline]] inline void add_taps(Four& s, const char* x, const char* w, const Steps& step, uint32x4_t at,
                                            uint32x4_t size) {
  float32x4_t in, t;
  std::uint32_t w0, w1;
  asm volatile(
      "dls lr, %[taps]\n"
      "1:\n"
      "ldr %[w0], [%[w]]\n"
      "ldr %[w1], [%[w], %[o1]]\n"
      "vpttt.u32 hi, %q[size], %q[at]\n"
      "vldrwt.u32 %q[in], [%[x], %q[at], uxtw #2]\n"
      "vmult.f32 %q[t], %q[in], %[w0]\n"
      "vaddt.f32 %q[a], %q[a], %q[t]\n"
      "ldr %[w0], [%[w], %[o1], lsl #1]\n"
      "vpstt\n"
      "vmult.f32 %q[t], %q[in], %[w1]\n"
      "vaddt.f32 %q[b], %q[b], %q[t]\n"
      "ldr %[w1], [%[w], %[o3]]\n"
      "vpstttt\n"
      "vmult.f32 %q[t], %q[in], %[w0]\n"
      "vmult.f32 %q[in], %q[in], %[w1]\n"
      "vaddt.f32 %q[c], %q[c], %q[t]\n"
      "vaddt.f32 %q[d], %q[d], %q[in]\n"
      "vadd.i32 %q[at], %q[at], %[cs]\n"
      "add %[x], %[x], %[xs]\n"
      "add %[w], %[w], %[ws]\n"
      "le lr, 1b\n"
      : [a] "+&w"(s.a), [b] "+&w"(s.b), [c] "+&w"(s.c), [d] "+&w"(s.d), [in] "=&w"(in), [t] "=&w"(t), [at] "+&w"(at),
        [x] "+&r"(x), [w] "+&r"(w), [w0] "=&r"(w0), [w1] "=&r"(w1)
      : [size] "w"(size), [taps] "r"(step.taps), [xs] "r"(step.x), [cs] "r"(step.column), [ws] "r"(step.weight),
        [o1] "r"(step.output), [o3] "r"(step.thrice)
      : CORMORANT_VPR "lr", "memory");
}

// The same where each output has its own input.
[[gnu::always_inline]] inline void add_taps_apart(Four& s, const char* x, const char* w, const Steps& step) {
  float32x4_t in, t, u;
  auto w0 = static_cast<std::uint32_t>(step.taps);  // then weights
  asm volatile(
      "dls lr, %[w0]\n"
      "1:\n"
      "ldr %[w0], [%[w]]\n"
      "vldrw.u32 %q[in], [%[x]]\n"
      "add %[x], %[x], %[io]\n"
      "vmul.f32 %q[t], %q[in], %[w0]\n"
      "ldr %[w0], [%[w], %[o1]]\n"
      "vldrw.u32 %q[in], [%[x]]\n"
      "vadd.f32 %q[a], %q[a], %q[t]\n"
      "vmul.f32 %q[u], %q[in], %[w0]\n"
      "ldr %[w0], [%[w], %[o1], lsl #1]\n"
      "add %[x], %[x], %[io]\n"
      "vldrw.u32 %q[in], [%[x]]\n"
      "vadd.f32 %q[b], %q[b], %q[u]\n"
      "vmul.f32 %q[t], %q[in], %[w0]\n"
      "ldr %[w0], [%[w], %[o3]]\n"
      "add %[x], %[x], %[io]\n"
      "vldrw.u32 %q[in], [%[x]]\n"
      "vadd.f32 %q[c], %q[c], %q[t]\n"
      "vmul.f32 %q[u], %q[in], %[w0]\n"
      "add %[x], %[x], %[xs]\n"
      "add %[w], %[w], %[ws]\n"
      "vadd.f32 %q[d], %q[d], %q[u]\n"
      "le lr, 1b\n"
      : [a] "+&w"(s.a), [b] "+&w"(s.b), [c] "+&w"(s.c), [d] "+&w"(s.d), [in] "=&w"(in), [t] "=&w"(t), [u] "=&w"(u),
        [x] "+&r"(x), [w] "+&r"(w), [w0] "+&r"(w0)
      : [xs] "r"(step.x - 3 * step.in_output), [ws] "r"(step.weight), [o1] "r"(step.output), [o3] "r"(step.thrice),
        [io] "r"(step.in_output)
      : "lr", "memory");
}
[[gnu::always_inline]] inline void add_taps_apart(Four& s, const char* x, const char* w, const Steps& step,
                                                  uint32x4_t at, uint32x4_t size) {
  float32x4_t in;
  // In a vector: position-independent code has one general register less.
  const uint32x4_t column = vdupq_n_u32(static_cast<std::uint32_t>(step.column));
  auto w0 = static_cast<std::uint32_t>(step.taps);  // then weights
  asm volatile(
      "dls lr, %[w0]\n"
      "1:\n"
      "ldr %[w0], [%[w]]\n"
      "vpttt.u32 hi, %q[size], %q[at]\n"
      "vldrwt.u32 %q[in], [%[x], %q[at], uxtw #2]\n"
      "vmult.f32 %q[in], %q[in], %[w0]\n"
      "vaddt.f32 %q[a], %q[a], %q[in]\n"
      "ldr %[w0], [%[w], %[o1]]\n"
      "add %[x], %[x], %[io]\n"
      "vpsttt\n"
      "vldrwt.u32 %q[in], [%[x], %q[at], uxtw #2]\n"
      "vmult.f32 %q[in], %q[in], %[w0]\n"
      "vaddt.f32 %q[b], %q[b], %q[in]\n"
      "ldr %[w0], [%[w], %[o1], lsl #1]\n"
      "add %[x], %[x], %[io]\n"
      "vpsttt\n"
      "vldrwt.u32 %q[in], [%[x], %q[at], uxtw #2]\n"
      "vmult.f32 %q[in], %q[in], %[w0]\n"
      "vaddt.f32 %q[c], %q[c], %q[in]\n"
      "ldr %[w0], [%[w], %[o3]]\n"
      "add %[x], %[x], %[io]\n"
      "vpsttt\n"
      "vldrwt.u32 %q[in], [%[x], %q[at], uxtw #2]\n"
      "vmult.f32 %q[in], %q[in], %[w0]\n"
      "vaddt.f32 %q[d], %q[d], %q[in]\n"
      "vadd.i32 %q[at], %q[at], %q[cs]\n"
      "add %[x], %[x], %[xs]\n"
      "add %[w], %[w], %[ws]\n"
      "le lr, 1b\n"
      : [a] "+&w"(s.a), [b] "+&w"(s.b), [c] "+&w"(s.c), [d] "+&w"(s.d), [in] "=&w"(in), [at] "+&w"(at), [x] "+&r"(x),
        [w] "+&r"(w), [w0] "+&r"(w0)
      : [size] "w"(size), [xs] "r"(step.x - 3 * step.in_output), [cs] "w"(column), [ws] "r"(step.weight),
        [o1] "r"(step.output), [o3] "r"(step.thrice), [io] "r"(step.in_output)
      : CORMORANT_VPR "lr", "memory");
}

// One output: 16 neighbours, and lanes by column.
[[gnu::always_inline]] inline void add_wide_taps(Four& s, const char* x, const char* w, const Steps& step) {
  float32x4_t p, q, r, t;
  std::uint32_t w0;
  asm volatile(
      "dls lr, %[taps]\n"
      "1:\n"
      "ldr %[w0], [%[w]]\n"
      "vldrw.u32 %q[p], [%[x]]\n"
      "vmul.f32 %q[p], %q[p], %[w0]\n"
      "vldrw.u32 %q[q], [%[x], #16]\n"
      "vmul.f32 %q[q], %q[q], %[w0]\n"
      "vldrw.u32 %q[r], [%[x], #32]\n"
      "vadd.f32 %q[a], %q[a], %q[p]\n"
      "vmul.f32 %q[r], %q[r], %[w0]\n"
      "vldrw.u32 %q[t], [%[x], #48]\n"
      "vadd.f32 %q[b], %q[b], %q[q]\n"
      "vmul.f32 %q[t], %q[t], %[w0]\n"
      "add %[x], %[x], %[xs]\n"
      "vadd.f32 %q[c], %q[c], %q[r]\n"
      "add %[w], %[w], %[ws]\n"
      "vadd.f32 %q[d], %q[d], %q[t]\n"
      "le lr, 1b\n"
      : [a] "+&w"(s.a), [b] "+&w"(s.b), [c] "+&w"(s.c), [d] "+&w"(s.d), [p] "=&w"(p), [q] "=&w"(q), [r] "=&w"(r),
        [t] "=&w"(t), [x] "+&r"(x), [w] "+&r"(w), [w0] "=&r"(w0)
      : [taps] "r"(step.taps), [xs] "r"(step.x), [ws] "r"(step.weight)
      : "lr", "memory");
}
[[gnu::always_inline]] inline void add_single_taps(float32x4_t& s, const char* x, const char* w, const Steps& step,
                                                   uint32x4_t at, uint32x4_t size) {
  float32x4_t in;
  std::uint32_t w0;
  asm volatile(
      "dls lr, %[taps]\n"
      "1:\n"
      "ldr %[w0], [%[w]]\n"
      "vpttt.u32 hi, %q[size], %q[at]\n"
      "vldrwt.u32 %q[in], [%[x], %q[at], uxtw #2]\n"
      "vmult.f32 %q[in], %q[in], %[w0]\n"
      "vaddt.f32 %q[s], %q[s], %q[in]\n"
      "vadd.i32 %q[at], %q[at], %[cs]\n"
      "add %[x], %[x], %[xs]\n"
      "add %[w], %[w], %[ws]\n"
      "le lr, 1b\n"
      : [s] "+&w"(s), [in] "=&w"(in), [at] "+&w"(at), [x] "+&r"(x), [w] "+&r"(w), [w0] "=&r"(w0)
      : [size] "w"(size), [taps] "r"(step.taps), [xs] "r"(step.x), [cs] "r"(step.column), [ws] "r"(step.weight)
      : CORMORANT_VPR "lr", "memory");
}

// add(x, w) for every row of the kernel in every channel.
template <class F>
[[gnu::always_inline]] inline void for_each_row(const FloatRow& r, const float* in, const float* weight, F add) {
  const auto* x = reinterpret_cast<const char*>(in);
  const auto* w = reinterpret_cast<const char*>(weight);
  for (std::int32_t c = r.channels; c > 0; --c, x += r.in_channel * kBytes, w += r.weight_channel * kBytes) {
    const char* x_row = x;
    const char* w_row = w;
    for (std::int32_t y = r.rows; y > 0; --y, x_row += r.in_row * kBytes, w_row += r.weight_row * kBytes) {
      add(x_row, w_row);
    }
  }
}

[[gnu::always_inline]] inline void store(float32x4_t sums, const float* bias, float* out) {
  vst1q_f32(out, bias == nullptr ? sums : vaddq_n_f32(sums, *bias));
}
// The first n lanes, `offsets` elements after out.
[[gnu::always_inline]] inline void store(float32x4_t sums, const float* bias, float* out, uint32x4_t offsets,
                                         std::int32_t n) {
  if (bias != nullptr) sums = vaddq_n_f32(sums, *bias);
  asm volatile(
      "vctp.32 %[n]\n"
      "vpst\n"
      "vstrwt.32 %q[sums], [%[out], %q[offsets], uxtw #2]\n"
      :
      : [n] "r"(n), [sums] "w"(sums), [out] "r"(out), [offsets] "w"(offsets)
      : CORMORANT_VPR "memory");
}

const float* bias_of(const FloatRow& r, std::int32_t output) { return r.bias == nullptr ? nullptr : r.bias + output; }

// Columns of the n places from i on; other lanes have none.
uint32x4_t columns_at(const FloatLine& line, std::int32_t i, std::int32_t n) {
  const int32x4_t lanes = vreinterpretq_s32_u32(vidupq_n_u32(0, 1));
  const int32x4_t at = vaddq_n_s32(vmulq_n_s32(lanes, line.in_step), line.in_at(i));
  const int32x4_t none = vshrq_n_s32(vsubq_s32(vdupq_n_s32(n - 1), lanes), 31);
  return vreinterpretq_u32_s32(vorrq_s32(at, none));
}

template <bool kApart>
[[gnu::noinline]] void sum_four(const FloatRow& r, const FloatLine& line, const Steps& step, std::int32_t output) {
  const float* const in = r.in + output * r.in_output;
  const float* const weight = r.weight + output * r.weight_output;
  const float* const bias = bias_of(r, output);
  const std::int32_t next = bias == nullptr ? 0 : 1;
  for (std::int32_t i = 0; i < line.count; i += 4) {
    const float32x4_t zero = vdupq_n_f32(0);
    Four s{zero, zero, zero, zero};
    float* out = r.out + output * r.out_output + i * line.out_step;
    if (line.in_step == 1 && line.out_step == 1 && i >= line.begin && i + 4 <= line.end) {
      if (step.taps != 0) {
        const Steps inside{step.taps,     step.x + step.column * kBytes, 0, step.weight, step.output, step.thrice,
                           step.in_output};
        for_each_row(r, in + line.in_at(i), weight, [&](const char* x, const char* w) {
          if constexpr (kApart) {
            add_taps_apart(s, x, w, inside);
          } else {
            add_taps(s, x, w, inside);
          }
        });
      }
      store(s.a, bias, out);
      store(s.b, bias + next, out += r.out_output);
      store(s.c, bias + 2 * next, out += r.out_output);
      store(s.d, bias + 3 * next, out += r.out_output);
      continue;
    }
    const std::int32_t n = line.count - i;
    if (step.taps != 0) {
      const uint32x4_t at = columns_at(line, i, n);
      const uint32x4_t size = vdupq_n_u32(static_cast<std::uint32_t>(line.in_size));
      for_each_row(r, in, weight, [&](const char* x, const char* w) {
        if constexpr (kApart) {
          add_taps_apart(s, x, w, step, at, size);
        } else {
          add_taps(s, x, w, step, at, size);
        }
      });
    }
    const uint32x4_t offsets = vmulq_n_u32(vidupq_n_u32(0, 1), static_cast<std::uint32_t>(line.out_step));
    store(s.a, bias, out, offsets, n);
    store(s.b, bias + next, out += r.out_output, offsets, n);
    store(s.c, bias + 2 * next, out += r.out_output, offsets, n);
    store(s.d, bias + 3 * next, out += r.out_output, offsets, n);
  }
}

[[gnu::noinline]] void sum_one(const FloatRow& r, const FloatLine& line, const Steps& step, std::int32_t output) {
  const float* const in = r.in + output * r.in_output;
  const float* const weight = r.weight + output * r.weight_output;
  const float* const bias = bias_of(r, output);
  for (std::int32_t i = 0; i < line.count;) {
    const float32x4_t zero = vdupq_n_f32(0);
    float* const out = r.out + output * r.out_output + i * line.out_step;
    if (line.in_step == 1 && line.out_step == 1 && i >= line.begin && i + 16 <= line.end && step.taps != 0) {
      Four s{zero, zero, zero, zero};
      const Steps inside{step.taps, step.x + step.column * kBytes, 0, step.weight, 0, 0, 0};
      for_each_row(r, in + line.in_at(i), weight,
                   [&](const char* x, const char* w) { add_wide_taps(s, x, w, inside); });
      store(s.a, bias, out);
      store(s.b, bias, out + 4);
      store(s.c, bias, out + 8);
      store(s.d, bias, out + 12);
      i += 16;
      continue;
    }
    const std::int32_t n = line.count - i;
    float32x4_t sums = zero;
    if (step.taps != 0) {
      const uint32x4_t at = columns_at(line, i, n);
      const uint32x4_t size = vdupq_n_u32(static_cast<std::uint32_t>(line.in_size));
      for_each_row(r, in, weight, [&](const char* x, const char* w) { add_single_taps(sums, x, w, step, at, size); });
    }
    const uint32x4_t offsets = vmulq_n_u32(vidupq_n_u32(0, 1), static_cast<std::uint32_t>(line.out_step));
    store(sums, bias, out, offsets, n);
    i += 4;
  }
}

struct Scaling {
  float factor, term;
  float operator()(float x, float /*unused*/) const { return 0 + factor * x + term; }
  float32x4_t operator()(float32x4_t x, float32x4_t /*unused*/) const {
    return vaddq_n_f32(vaddq_n_f32(vmulq_n_f32(x, factor), 0), term);
  }
};

// Separate functions, so that their registers are not saved at the same time.
[[gnu::noinline]] void scale_row(const FloatRow& row, const FloatLine& line) {
  for (std::int32_t o = 0; o < row.outputs; ++o) {
    const float* const in = row.in + o * row.in_output + line.first_in;
    const Scaling f{row.weight[o * row.weight_output], row.bias == nullptr ? 0 : row.bias[o]};
    map_floats(in, 1, in, 1, row.out + o * row.out_output, static_cast<std::uint32_t>(line.count), f);
  }
}

}  // namespace

void sum_row_mve(const FloatRow& row, const FloatLine& line) {
  if (is_scaling(row, line) && line.in_step == 1 && line.out_step == 1) return scale_row(row, line);
  const Steps step{row.taps,
                   row.in_tap * kBytes,
                   line.in_tap,
                   row.weight_tap * kBytes,
                   row.weight_output * kBytes,
                   row.weight_output * 3 * kBytes,
                   row.in_output * kBytes};
  forget_flushes();
  if (row.outputs < 4) {
    for (std::int32_t o = 0; o < row.outputs; ++o) sum_one(row, line, step, o);
  } else {
    // The last four may overlap the previous ones.
    for (std::int32_t o = 0; o < row.outputs; o += 4) {
      const std::int32_t first = o + 4 <= row.outputs ? o : row.outputs - 4;
      if (row.in_output == 0) {
        sum_four<false>(row, line, step, first);
      } else {
        sum_four<true>(row, line, step, first);
      }
    }
  }
  if (has_flushed()) sum_row(row, line);
}

}  // namespace cormorant
