// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/depthwise_conv2d/kernel.h"

namespace cormorant::ops::depthwise {

void reference_packed(const Variant& variant, const PackedPlan& plan);

extern const Kernel kDirectReference;
extern const Kernel kDirectNhwcReference;
extern const Kernel kPackedReferences[7];

}  // namespace cormorant::ops::depthwise
