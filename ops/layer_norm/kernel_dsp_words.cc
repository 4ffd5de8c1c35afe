// SPDX-License-Identifier: Apache-2.0
//
// Two elements at a time; their squares are added up in 64 bits.
#include <arm_acle.h>

#include <cstring>

#include "ops/layer_norm/rows_dsp.h"

namespace cormorant::ops::layer_norm {
namespace {

WordsSums statistics(const std::int16_t* row, std::uint32_t size) {
  constexpr std::int32_t kOnes = 0x00010001;
  WordsSums sums;
  std::uint32_t left = size;
  for (; left >= 2; left -= 2, row += 2) {
    std::int32_t pair;
    std::memcpy(&pair, row, sizeof(pair));  // may be unaligned, which LDR allows
    sums.sum = __smlad(pair, kOnes, sums.sum);
    sums.squares = __smlald(pair, pair, sums.squares);
  }
  const WordsSums rest = plain_statistics(row, left);
  return {sums.sum + rest.sum, sums.squares + rest.squares};
}

void execute_words(const void* plan) {
  normalize_rows_quickly<quick_dsp, statistics>(*static_cast<const WordsPlan*>(plan));
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_LAYER_NORM_KERNELS, dsp_words)

}  // namespace cormorant::ops::layer_norm
