// SPDX-License-Identifier: Apache-2.0
#include "ops/host/references.h"
#include "ops/layer_norm/float.h"
#include "ops/layer_norm/kernel.h"
#include "ops/layer_norm/rows.h"

namespace cormorant::ops::layer_norm {
namespace {

void execute(const void* plan) {
  normalize_rows<doubling_high_multiply, plain_statistics<std::int8_t>>(*static_cast<const Plan*>(plan));
}

void execute_words(const void* plan) {
  normalize_rows<doubling_high_multiply, plain_statistics<std::int16_t>>(*static_cast<const WordsPlan*>(plan));
}

}  // namespace

CORMORANT_REFERENCES(layer_norm, CORMORANT_LAYER_NORM_KERNELS)

}  // namespace cormorant::ops::layer_norm
