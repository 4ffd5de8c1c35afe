// SPDX-License-Identifier: Apache-2.0
//
// aten.avg_pool2d in float is the portable operator as it stands.
#include "ops/avg_pool2d/float.h"

#include "ops/op.h"

extern "C" {
extern const cormorant::Kernel aten_avg_pool2d_out_scalar;
}

namespace cormorant::ops {

FloatForm avg_pool2d_float() {
  return {.lower = nullptr, .signatures = {signature_of<FloatAvgPool2d>()}, .kernels = {&aten_avg_pool2d_out_scalar}};
}

}  // namespace cormorant::ops
