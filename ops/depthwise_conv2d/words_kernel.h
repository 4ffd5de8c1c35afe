// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/conv_gemm_words.h"
#include "ops/conv2d/words_kernel.h"
#include "ops/depthwise_conv2d/words.h"

namespace cormorant::ops::depthwise::words {

using conv2d::words::Plan;

Error load_mve(Call& call);
Error load_dsp(Call& call);
Error load_scalar(Call& call);
Error load_v6m(Call& call);

}  // namespace cormorant::ops::depthwise::words
