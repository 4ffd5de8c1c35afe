// SPDX-License-Identifier: Apache-2.0
//
// With 4-bit weights.
#include "ops/conv2d/nibbles_kernel.h"
#include "ops/transpose_conv2d/kernel.h"

namespace cormorant::ops::transpose_conv2d {
namespace {

void execute_mve_nibbles(const void* raw) {
  for_phases(*static_cast<const PackedPlan*>(raw), [](const conv2d::Convolution& c) {
    conv2d::nibbles::convolve<conv2d::nibbles::kMve, conv2d::convolve_mve, conv2d::nibbles::unpack_vectors>(c);
  });
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_TRANSPOSE_CONV2D_KERNELS, mve_words)

}  // namespace cormorant::ops::transpose_conv2d
