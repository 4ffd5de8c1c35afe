// SPDX-License-Identifier: Apache-2.0
#include "ops/scatter/kernel.h"

namespace cormorant::ops::scatter {

CORMORANT_KERNELS(CORMORANT_SCATTER_KERNELS, any_cpu)

}  // namespace cormorant::ops::scatter
