// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/conv2d/kernel.h"
#include "ops/depthwise_conv2d/depthwise_conv2d.h"

namespace cormorant::ops::depthwise {

using conv2d::PackedPlan;

Error load_mve_3x3(Call& call);
Error load_mve_3x3_narrow(Call& call);
Error load_mve_kxk(Call& call);
Error load_dsp(Call& call);
Error load_scalar(Call& call);
Error load_direct(Call& call);  // the plan is a conv::Direct
Error load_direct_nhwc(Call& call);

}  // namespace cormorant::ops::depthwise
