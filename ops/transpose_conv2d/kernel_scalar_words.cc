// SPDX-License-Identifier: Apache-2.0
//
// With 4-bit weights.
#include "kernels/conv_gemm.h"
#include "ops/conv2d/nibbles_kernel.h"
#include "ops/transpose_conv2d/kernel.h"

namespace cormorant::ops::transpose_conv2d {

constexpr auto* execute_scalar_nibbles =
    execute_phases<conv2d::nibbles::convolve<conv2d::nibbles::kScalar, conv2d::convolve_halves_of_nibbles,
                                             conv2d::nibbles::unpack_words<false>>,
                   conv::clamp_bytes>;
CORMORANT_KERNELS(CORMORANT_TRANSPOSE_CONV2D_KERNELS, scalar_words)

}  // namespace cormorant::ops::transpose_conv2d
