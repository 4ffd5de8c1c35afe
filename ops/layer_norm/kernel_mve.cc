// SPDX-License-Identifier: Apache-2.0
//
// arithmetic.h in four lanes: VQRDMULH is the doubling high multiply, and VSHL by a negative amount rounds down.
#include <arm_mve.h>

#include "ops/layer_norm/rows.h"

namespace cormorant::ops::layer_norm {
namespace {

Sums statistics(const std::int8_t* row, std::uint32_t size) {
  Sums sums;
  asm volatile(
      "dlstp.8 lr, %[count]\n"
      "1:\n\t"
      "vldrb.u8 q0, [%[row]], #16\n\t"
      "vmladava.s8 %[squares], q0, q0\n\t"
      "vaddva.s8 %[sum], q0\n\t"
      "letp lr, 1b"
      : [squares] "+Te"(sums.squares), [sum] "+Te"(sums.sum), [row] "+r"(row)
      : [count] "r"(size)
      : "q0", "lr", "memory");
  return sums;
}

// A row under way.
struct Lanes {
  std::int32_t size, mean, root;
  int32x4_t left, shift;
};

// Four elements; γ and β are vectors, or the same for all.
inline int32x4_t values_of(const Lanes& l, const std::int8_t* input, mve_pred16_t lanes) {
  const int32x4_t d = vsubq_n_s32(vmulq_n_s32(vldrbq_z_s32(input, lanes), l.size), l.mean);
  return vqrdmulhq_n_s32(vshlq_s32(d, l.left), l.root);
}

inline void put(const Lanes& l, std::int8_t* out, int32x4_t sum, mve_pred16_t lanes) {
  const int32x4_t level = vshlq_s32(sum, l.shift);
  vstrbq_p_s32(out, vmaxq_s32(vminq_s32(level, vdupq_n_s32(127)), vdupq_n_s32(-128)), lanes);
}

void execute(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  const Header& h = p.header();
  const std::uint32_t parameters = h.groups * h.channels;
  const std::int8_t* input = p.input;
  std::int8_t* out = p.out;
  for (std::uint32_t o = 0; o < p.outer; ++o) {
    const std::int32_t* gamma = p.gammas();
    for (std::uint32_t group = 0; group < h.groups; ++group) {
      const Sums sums = statistics(input, h.size());
      const Row row = row_of<doubling_high_multiply>(h, sums.sum, sums.squares);
      const Lanes l{static_cast<std::int32_t>(h.size()), row.mean, row.root, vdupq_n_s32(row.left),
                    vdupq_n_s32(-static_cast<std::int32_t>(h.shift))};
      if (h.inner == 1) {
        for (std::uint32_t i = 0; i < h.channels; i += 4) {
          const mve_pred16_t lanes = vctp32q(h.channels - i);
          const int32x4_t scaled = vqrdmulhq_s32(values_of(l, input + i, lanes), vldrwq_z_s32(gamma + i, lanes));
          put(l, out + i, vaddq_s32(scaled, vldrwq_z_s32(gamma + parameters + i, lanes)), lanes);
        }
        gamma += h.channels;
        input += h.channels;
        out += h.channels;
        continue;
      }
      for (std::uint32_t channel = 0; channel < h.channels; ++channel, ++gamma) {
        const std::int32_t factor = gamma[0];
        const std::int32_t term = gamma[parameters];
        for (std::uint32_t i = 0; i < h.inner; i += 4) {
          const mve_pred16_t lanes = vctp32q(h.inner - i);
          const int32x4_t scaled = vqrdmulhq_n_s32(values_of(l, input + i, lanes), factor);
          put(l, out + i, vaddq_n_s32(scaled, term), lanes);
        }
        input += h.inner;
        out += h.inner;
      }
    }
  }
}

}  // namespace
}  // namespace cormorant::ops::layer_norm

CORMORANT_KERNEL(cormorant_layer_norm_mve, cormorant::ops::layer_norm::kMve, cormorant::ops::layer_norm::load,
                 cormorant::ops::layer_norm::execute)
