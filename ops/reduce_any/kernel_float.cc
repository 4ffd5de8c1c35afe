// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce_any/kernel.h"

namespace cormorant::ops::reduce_any {

CORMORANT_KERNELS(CORMORANT_REDUCE_ANY_KERNELS, any_cpu)

}  // namespace cormorant::ops::reduce_any
