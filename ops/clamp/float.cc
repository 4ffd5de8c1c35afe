// SPDX-License-Identifier: Apache-2.0
//
// aten.clamp in float is the portable operator as it stands.
#include "ops/clamp/float.h"

#include "ops/op.h"

extern "C" {
extern const cormorant::Kernel aten_clamp_out_scalar, aten_hardtanh_out_scalar, aten_relu_out_scalar;
}

namespace cormorant::ops {

FloatForm clamp_float() {
  return {.lower = nullptr,
          .signatures = {signature_of<FloatHardtanh>(), signature_of<FloatRelu>()},
          .kernels = {&aten_clamp_out_scalar, &aten_hardtanh_out_scalar, &aten_relu_out_scalar}};
}

}  // namespace cormorant::ops
