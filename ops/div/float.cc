// SPDX-License-Identifier: Apache-2.0
//
// aten.div in float is the portable operator as it stands.
#include "ops/float_binary.h"
#include "ops/op.h"

extern "C" {
extern const cormorant::Kernel aten_div_out_scalar;
}

namespace cormorant::ops {

FloatForm div_float() {
  return {
      .lower = nullptr, .signatures = {signature_of<FloatBinary>("aten::div.out")}, .kernels = {&aten_div_out_scalar}};
}

}  // namespace cormorant::ops
