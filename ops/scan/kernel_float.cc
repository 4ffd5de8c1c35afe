// SPDX-License-Identifier: Apache-2.0
#include "ops/scan/kernel.h"

namespace cormorant::ops::scan {

CORMORANT_KERNELS(CORMORANT_SCAN_KERNELS, any_cpu)

}  // namespace cormorant::ops::scan
