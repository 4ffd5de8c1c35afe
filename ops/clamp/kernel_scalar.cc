// SPDX-License-Identifier: Apache-2.0
#include "base/fixed_point.h"
#include "kernels/bytes_scalar.h"
#include "ops/clamp/kernel.h"

namespace cormorant::ops {
namespace {

// Whole words; tensors are aligned. relu and the like have no upper bound.
template <bool kHigh>
inline void clamp_words(const std::int8_t* from, std::int8_t* to, std::uint32_t words, std::uint32_t low,
                        std::uint32_t high) {
  for (; words != 0; --words, from += 4, to += 4) {
    std::uint32_t word = load_four(from);
    word = max_of_bytes(word, low);
    if constexpr (kHigh) word = min_of_bytes(word, high);
    store_four(to, word);
  }
}

void execute(const void* plan) {
  const auto& p = *static_cast<const ClampPlan*>(plan);
  const std::int32_t low = p.low;
  const std::int32_t high = p.high;
  const std::uint32_t words = p.count / 4;
  if (high == 127) {
    clamp_words<false>(p.input, p.output, words, in_all_bytes(low), 0);
  } else {
    clamp_words<true>(p.input, p.output, words, in_all_bytes(low), in_all_bytes(high));
  }
  for (std::uint32_t i = words * 4; i < p.count; ++i) {
    p.output[i] = static_cast<std::int8_t>(clamp(p.input[i], low, high));
  }
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_CLAMP_KERNELS, scalar)

}  // namespace cormorant::ops
