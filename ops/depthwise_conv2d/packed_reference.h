// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/depthwise_conv2d/kernel.h"

namespace cormorant::ops::depthwise {

void reference_packed(const Variant& variant, const PackedPlan& plan);

}  // namespace cormorant::ops::depthwise
