// SPDX-License-Identifier: Apache-2.0
#include "ops/gather/kernel.h"

namespace cormorant::ops::gather {

CORMORANT_KERNELS(CORMORANT_GATHER_KERNELS, any_cpu)

}  // namespace cormorant::ops::gather
