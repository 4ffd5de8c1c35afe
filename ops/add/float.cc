// SPDX-License-Identifier: Apache-2.0
//
// aten.add in float is the portable operator as it stands.
#include "ops/add/float.h"

#include "ops/op.h"

extern "C" {
extern const cormorant::Kernel aten_add_out_scalar, aten_sub_out_scalar;
}

namespace cormorant::ops {

FloatForm add_float() {
  return {.lower = nullptr,
          .signatures = {signature_of<add::FloatAdd>(), signature_of<add::FloatAdd>(add::kFloatSub)},
          .kernels = {&aten_add_out_scalar, &aten_sub_out_scalar}};
}

}  // namespace cormorant::ops
