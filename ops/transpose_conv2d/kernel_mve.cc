// SPDX-License-Identifier: Apache-2.0
#include "ops/transpose_conv2d/kernel.h"

namespace cormorant::ops::transpose_conv2d {
namespace {

void execute_mve(const void* raw) { for_phases(*static_cast<const PackedPlan*>(raw), conv2d::convolve_mve); }

void execute_direct(const void* raw) { conv::transpose_direct(*static_cast<const conv::Direct*>(raw)); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_TRANSPOSE_CONV2D_KERNELS, mve)

}  // namespace cormorant::ops::transpose_conv2d
