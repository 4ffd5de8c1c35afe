// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/kernel.h"

CORMORANT_KERNEL(cormorant_mean_scalar, cormorant::ops::kMeanScalar, cormorant::ops::load_mean,
                 cormorant::ops::execute_mean<cormorant::window_mean_scalar>)
CORMORANT_KERNEL(cormorant_amax_scalar, cormorant::ops::kAmaxScalar, cormorant::ops::load_amax,
                 cormorant::ops::execute_amax<cormorant::window_max_scalar>)
