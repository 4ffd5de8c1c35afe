// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/kernel.h"

CORMORANT_KERNEL(cormorant_mean_mve, cormorant::ops::kMeanMve, cormorant::ops::load_mean,
                 cormorant::ops::execute_mean<cormorant::window_mean_mve>)
CORMORANT_KERNEL(cormorant_amax_mve, cormorant::ops::kAmaxMve, cormorant::ops::load_amax,
                 cormorant::ops::execute_amax<cormorant::window_max_mve>)
