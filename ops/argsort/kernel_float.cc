// SPDX-License-Identifier: Apache-2.0
#include "ops/argsort/kernel.h"

namespace cormorant::ops::argsort {

CORMORANT_KERNELS(CORMORANT_ARGSORT_KERNELS, any_cpu)

}  // namespace cormorant::ops::argsort
