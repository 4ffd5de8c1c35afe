// SPDX-License-Identifier: Apache-2.0
//
// Layers with a residual connection: a stretch of a column is computed into scratch and added from there, so that the
// result needs no memory of its own. A separate file, so that programs without one are compiled as if it did not exist.
#include <arm_mve.h>

#include "kernels/sum_mve.h"
#include "ops/conv2d/pairs_mve.h"
#include "ops/conv2d/walk_mve.h"

namespace cormorant::ops::conv2d {
namespace {

struct Summed : Convolution {
  const SummedPlan& plan;
};

// 16 channels of `rows` pixels of a column, which are `self_step` + 16 and `step` + 16 bytes apart.
// Inlined, its statement would have too few registers.
[[gnu::noinline]] void add_column(const SumFactors& sum, const std::int8_t* self, const std::int8_t* other,
                                  std::int8_t* out, std::uint32_t rows, std::uint32_t self_step, std::uint32_t step) {
  // clang-format off
  asm volatile("vdup.32 q2, %[self_factor]\n\t"
               CORMORANT_SUM_BEGIN("q0")
               "wls lr, %[turns], 2f\n"
               "1:\n\t"
               CORMORANT_SUM_THREE_STEPS
               "add %[self], %[self], %[self_step]\n\t"
               "add %[other], %[other], %[step]\n\t"
               CORMORANT_SUM_STEP("q3", "q0")
               "add %[out], %[out], %[step]\n\t"
               "le lr, 1b\n"
               "2:\n\t"
               CORMORANT_SUM_THREE_STEPS
               CORMORANT_SUM_END("q3")
               : [self] "+&l"(self), [other] "+&l"(other), [out] "+&l"(out)
               : [offset] "r"(sum.offset), [factor] "r"(sum.other), [self_factor] "r"(sum.self),
                 [self_step] "r"(self_step), [step] "r"(step), [turns] "r"(rows - 1), [up] "r"(24 - sum.shift)
               : "q0", "q1", "q2", "q3", "lr", "memory");
  // clang-format on
}

struct Sums {
  // Whole blocks of channels.
  static void compute(conv::MveGemm& gemm, std::uint32_t channels, std::uint32_t /*block_bytes*/) {
    gemm.blocks = channels / 4;
    conv::cormorant_conv_gemm_mve(&gemm);
  }
  static conv::MveGemm gemm_of(const Convolution& c) { return conv2d::gemm_of(c); }
  static Stream stream_of(const conv::Geometry& g) { return {Layout::mve, g}; }

  static void finish(const Convolution& c, std::int32_t left, std::uint32_t first, std::uint32_t count) {
    const SummedPlan& plan = static_cast<const Summed&>(c).plan;
    const conv::Geometry& g = c.header.geometry;
    const std::uint32_t channels = g.out_channels;
    const std::uint32_t x = static_cast<std::uint32_t>(left + g.pad_left) / g.stride_width;
    const std::uint32_t at = (first * g.out_width + x) * channels;
    for (std::uint32_t i = 0; i < channels; i += 16) {
      add_column(plan.factors, c.places.out + i, plan.residual + at + i, plan.out + at + i, count, channels - 16,
                 g.out_width * channels - 16);
    }
  }
};

}  // namespace

void execute_mve_sum(const void* raw) {
  const auto& plan = *static_cast<const SummedPlan*>(raw);
  Summed c{convolution_of(plan), plan};
  const conv::Geometry& g = c.header.geometry;
  c.places = {c.scratch + Stretch(g).bytes().value(), 0, g.out_channels, 0};
  by_columns<Sums>(c);
}

}  // namespace cormorant::ops::conv2d
