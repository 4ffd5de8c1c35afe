// SPDX-License-Identifier: Apache-2.0
#include "ops/grid_sample/kernel.h"

namespace cormorant::ops::grid_sample {

CORMORANT_KERNELS(CORMORANT_GRID_SAMPLE_KERNELS, any_cpu)

}  // namespace cormorant::ops::grid_sample
