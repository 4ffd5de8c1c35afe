// SPDX-License-Identifier: Apache-2.0
#include "ops/map/kernel.h"

namespace cormorant::ops::map {

CORMORANT_KERNELS(CORMORANT_MAP_KERNELS, any_cpu)

}  // namespace cormorant::ops::map
