// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/float.h"
#include "ops/activation/kernel.h"
#include "ops/host/references.h"

namespace cormorant::ops {
namespace {

void execute(const void* plan) {
  const auto& p = *static_cast<const ActivationPlan*>(plan);
  for (std::uint32_t i = 0; i < p.count; ++i) p.output[i] = p.zero[p.input[i]];
}

void execute_words(const void* plan) {
  const auto& p = *static_cast<const WordsActivationPlan*>(plan);
  for (std::uint32_t i = 0; i < p.count; ++i) {
    p.output[i] = static_cast<std::int16_t>(rounded_word(interpolated(p.table, p.input[i])));
  }
}

}  // namespace

CORMORANT_REFERENCES(activation, CORMORANT_ACTIVATION_KERNELS)

}  // namespace cormorant::ops
