// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/kernel.h"

CORMORANT_KERNEL(cormorant_mean_dsp, cormorant::ops::kMeanDsp, cormorant::ops::load_mean,
                 cormorant::ops::execute_mean<cormorant::window_mean_dsp>)
CORMORANT_KERNEL(cormorant_amax_dsp, cormorant::ops::kAmaxDsp, cormorant::ops::load_amax,
                 cormorant::ops::execute_amax<cormorant::window_max_dsp>)
