// SPDX-License-Identifier: Apache-2.0
#include "ops/quantize/without_fpu.h"

namespace cormorant::ops {
namespace {

void execute(const void* plan) { execute_without_fpu(*static_cast<const QuantizePlan*>(plan)); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_QUANTIZE_KERNELS, scalar)

}  // namespace cormorant::ops
