// SPDX-License-Identifier: Apache-2.0
//
// arithmetic.h in four lanes: VQRDMULH is the doubling high multiply, and VSHL by a negative amount rounds down. A
// kernel file defines its statistics, and the two loops by CORMORANT_NORM_LOOPS.
#pragma once

#include <arm_mve.h>

#include "ops/layer_norm/rows.h"

namespace cormorant::ops::layer_norm {

// As C++, for four elements at a time:
//   d = size · x − mean;  value = vqrdmulhq_n_s32(vshlq_s32(d, left), root);
//   out = saturated(vshlq_s32(vaddq_s32(vqrdmulhq_s32(value, gamma), beta), −shift))
// The first narrowing saturates to 16 bits, STORE does the rest and takes the lowest part of each lane. run_channels
// has a γ and β for each element, run_inner the same for all.
// clang-format off
#define CORMORANT_NORM_VALUE(LOAD)        \
  LOAD                                    \
  "vmul.i32 q0, q0, %[size]\n\t"          \
  "vsub.i32 q0, q0, %[mean]\n\t"          \
  "vshl.s32 q0, q0, %q[left]\n\t"         \
  "vqrdmulh.s32 q0, q0, %[root]\n\t"
#define CORMORANT_NORM_RESULT(STORE)      \
  "vshl.s32 q0, q0, %q[shift]\n\t"        \
  "vqmovnb.s32 q0, q0\n\t"                \
  STORE                                   \
  "letp lr, 1b"

#define CORMORANT_NORM_LOOPS(Element, LOAD, STORE)                                                                     \
  static inline void run_channels(const Row& row, std::int32_t size, std::int32_t shift, const Element* in, Element* out,     \
                           std::uint32_t count, const std::int32_t* gamma, const std::int32_t* beta) {                 \
    asm volatile(                                                                                                      \
        "dlstp.32 lr, %[count]\n"                                                                                      \
        "1:\n\t"                                                                                                       \
        CORMORANT_NORM_VALUE(LOAD)                                                                                     \
        "vldrw.u32 q1, [%[gamma]], #16\n\t"                                                                            \
        "vqrdmulh.s32 q0, q0, q1\n\t"                                                                                  \
        "vldrw.u32 q1, [%[beta]], #16\n\t"                                                                             \
        "vadd.i32 q0, q0, q1\n\t"                                                                                      \
        CORMORANT_NORM_RESULT(STORE)                                                                                   \
        : [in] "+&l"(in), [out] "+&l"(out), [gamma] "+&r"(gamma), [beta] "+&r"(beta)                                       \
        : [size] "r"(size), [mean] "r"(row.mean), [root] "r"(row.root), [left] "w"(vdupq_n_s32(row.left)),             \
          [shift] "w"(vdupq_n_s32(-shift)), [count] "r"(count)                                                         \
        : "q0", "q1", "lr", "memory");                                                                                 \
  }                                                                                                                    \
  static inline void run_inner(const Row& row, std::int32_t size, std::int32_t shift, const Element* in, Element* out,        \
                        std::uint32_t count, std::int32_t gamma, std::int32_t beta) {                                  \
    asm volatile(                                                                                                      \
        "dlstp.32 lr, %[count]\n"                                                                                      \
        "1:\n\t"                                                                                                       \
        CORMORANT_NORM_VALUE(LOAD)                                                                                     \
        "vqrdmulh.s32 q0, q0, %[gamma]\n\t"                                                                            \
        "vadd.i32 q0, q0, %[beta]\n\t"                                                                                 \
        CORMORANT_NORM_RESULT(STORE)                                                                                   \
        : [in] "+&l"(in), [out] "+&l"(out)                                                                               \
        : [size] "r"(size), [mean] "r"(row.mean), [root] "r"(row.root), [left] "w"(vdupq_n_s32(row.left)),             \
          [shift] "w"(vdupq_n_s32(-shift)), [count] "r"(count), [gamma] "r"(gamma), [beta] "r"(beta)                   \
        : "q0", "lr", "memory");                                                                                       \
  }
// clang-format on

// Runs is a pair of these loops.
template <auto Statistics, class Runs, class Element>
void normalize_rows_mve(const PlanOf<Element>& p) {
  const Header& h = p.header();
  const auto size = static_cast<std::int32_t>(h.size());
  const auto shift = static_cast<std::int32_t>(h.shift);
  for_channels<Statistics>(
      p, [&](const SumsOf<Element>& sums) { return row_of<doubling_high_multiply>(h, sums); },
      [&](const Row& row, const Element* in, Element* out, std::uint32_t count, const std::int32_t* gamma,
          const std::int32_t* beta, std::uint32_t step) {
        if (step != 0) {
          Runs::run_channels(row, size, shift, in, out, count, gamma, beta);
        } else {
          Runs::run_inner(row, size, shift, in, out, count, *gamma, *beta);
        }
      });
}

}  // namespace cormorant::ops::layer_norm
