// SPDX-License-Identifier: Apache-2.0
//
// With 4-bit weights.
#include "kernels/conv_clamp_dsp.h"
#include "ops/conv2d/nibbles_kernel.h"
#include "ops/transpose_conv2d/kernel.h"

namespace cormorant::ops::transpose_conv2d {
namespace {

template <const conv2d::nibbles::Variant& V, auto Convolve, auto Unpack>
void execute(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  for_phases(plan, [](const conv2d::Convolution& c) { conv2d::nibbles::convolve<V, Convolve, Unpack>(c); });
  conv::clamp_bytes_dsp(plan.out, plan.out_bytes, plan.header->activation_min, plan.header->activation_max);
}

}  // namespace

constexpr auto* execute_dsp_nibbles =
    execute<conv2d::nibbles::kDsp, conv2d::convolve_dsp, conv2d::nibbles::unpack_words<false>>;
CORMORANT_KERNELS(CORMORANT_TRANSPOSE_CONV2D_KERNELS, dsp_words)

}  // namespace cormorant::ops::transpose_conv2d
