// SPDX-License-Identifier: Apache-2.0
//
// The statistics are sums of products, four bytes at a time; SMMULR is the high half of all other products.
#include <arm_acle.h>

#include <bit>
#include <cstring>

#include "ops/layer_norm/rows_dsp.h"

namespace cormorant::ops::layer_norm {
namespace {

Sums statistics(const std::int8_t* row, std::uint32_t size) {
  constexpr std::int32_t kOnes = 0x00010001;
  Sums sums;
  std::uint32_t left = size;
  for (; left >= 4; left -= 4, row += 4) {
    std::uint32_t word;
    std::memcpy(&word, row, sizeof(word));  // may be unaligned, which LDR allows
    const auto even = __sxtb16(static_cast<std::int32_t>(word));
    const auto odd = __sxtb16(static_cast<std::int32_t>(std::rotr(word, 8)));
    sums.sum = __smlad(even, kOnes, sums.sum);
    sums.squares = __smlad(even, even, sums.squares);
    sums.sum = __smlad(odd, kOnes, sums.sum);
    sums.squares = __smlad(odd, odd, sums.squares);
  }
  const Sums rest = plain_statistics(row, left);
  return {sums.sum + rest.sum, sums.squares + rest.squares};
}

void execute(const void* plan) { normalize_rows_quickly<quick_dsp, statistics>(*static_cast<const Plan*>(plan)); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_LAYER_NORM_KERNELS, dsp)

}  // namespace cormorant::ops::layer_norm
