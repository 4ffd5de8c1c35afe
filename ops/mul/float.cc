// SPDX-License-Identifier: Apache-2.0
//
// aten.mul in float is the portable operator as it stands.
#include "ops/float_binary.h"
#include "ops/op.h"

extern "C" {
extern const cormorant::Kernel aten_mul_out_scalar;
}

namespace cormorant::ops {

FloatForm mul_float() {
  return {
      .lower = nullptr, .signatures = {signature_of<FloatBinary>("aten::mul.out")}, .kernels = {&aten_mul_out_scalar}};
}

}  // namespace cormorant::ops
