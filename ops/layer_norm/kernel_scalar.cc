// SPDX-License-Identifier: Apache-2.0
#include "ops/layer_norm/rows_scalar.h"

namespace cormorant::ops::layer_norm {
namespace {

void execute(const void* raw) { normalize_rows_scalar<plain_statistics<std::int8_t>>(*static_cast<const Plan*>(raw)); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_LAYER_NORM_KERNELS, scalar)

}  // namespace cormorant::ops::layer_norm
