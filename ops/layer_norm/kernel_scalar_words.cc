// SPDX-License-Identifier: Apache-2.0
#include "ops/layer_norm/rows_scalar.h"

namespace cormorant::ops::layer_norm {
namespace {

void execute_words(const void* raw) {
  normalize_rows_scalar<plain_statistics<std::int16_t>>(*static_cast<const WordsPlan*>(raw));
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_LAYER_NORM_KERNELS, scalar_words)

}  // namespace cormorant::ops::layer_norm
