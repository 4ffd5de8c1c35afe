// SPDX-License-Identifier: Apache-2.0
//
// aten.minimum and aten.maximum in float are the portable operators as they stand.
#include "ops/float_binary.h"
#include "ops/op.h"

extern "C" {
extern const cormorant::Kernel aten_minimum_out_scalar, aten_maximum_out_scalar;
}

namespace cormorant::ops {

FloatForm minimum_maximum_float() {
  return {
      .lower = nullptr,
      .signatures = {signature_of<FloatBinary>("aten::minimum.out"), signature_of<FloatBinary>("aten::maximum.out")},
      .kernels = {&aten_minimum_out_scalar, &aten_maximum_out_scalar}};
}

}  // namespace cormorant::ops
