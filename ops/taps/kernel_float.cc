// SPDX-License-Identifier: Apache-2.0
#include "ops/taps/kernel.h"

namespace cormorant::ops::taps {

CORMORANT_KERNELS(CORMORANT_TAPS_KERNELS, any_cpu)

}  // namespace cormorant::ops::taps
