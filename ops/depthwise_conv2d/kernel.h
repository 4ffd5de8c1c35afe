// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/conv2d/kernel.h"
#include "ops/depthwise_conv2d/depthwise_conv2d.h"

namespace cormorant::ops::depthwise {

using conv2d::PackedPlan;

// As conv2d's: without the clamp.
[[gnu::noinline]] void convolve_dsp(const conv2d::Convolution& c);
[[gnu::noinline]] void convolve_scalar(const conv2d::Convolution& c);

// The packed shape of a variant for a geometry that it computes.
conv2d::PackedShape packed_shape(const Variant& variant, const conv::Geometry& geometry);

Error load_mve_3x3(Call& call);
Error load_mve_3x3_narrow(Call& call);
Error load_mve_kxk(Call& call);
Error load_dsp(Call& call);
Error load_dsp_wide(Call& call);
Error load_dsp_small(Call& call);
Error load_scalar(Call& call);
Error load_mve_prelu(Call& call);
Error load_dsp_prelu(Call& call);
Error load_scalar_prelu(Call& call);
Error load_direct(Call& call);  // the plan is a conv::Direct
Error load_direct_nhwc(Call& call);
// The same, with constants laid out for one of an instruction set's packed kernels if there is room.
Error load_repacked_mve(Call& call);
Error load_repacked_mve_nhwc(Call& call);
Error load_repacked_dsp(Call& call);
Error load_repacked_dsp_nhwc(Call& call);
Error load_repacked_scalar(Call& call);
Error load_repacked_scalar_nhwc(Call& call);
Error load_repacked_v6m(Call& call);
Error load_repacked_v6m_nhwc(Call& call);

}  // namespace cormorant::ops::depthwise
