// SPDX-License-Identifier: Apache-2.0
//
// In float it is aten::convolution like the others; signature and kernel are in ops/conv2d.
#include "ops/conv2d/lower_float.h"

namespace cormorant::ops {

FloatForm transpose_conv2d_float() { return {.lower = conv2d::lower_float, .signatures = {}, .kernels = {}}; }

}  // namespace cormorant::ops
