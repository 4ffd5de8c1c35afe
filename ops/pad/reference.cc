// SPDX-License-Identifier: Apache-2.0
#include "ops/pad/reference.h"

#include <algorithm>

#include "ops/host/references.h"
#include "ops/pad/float.h"

namespace cormorant::ops {

void pad_reference(const PadGeometry& g, std::int8_t value, const std::int8_t* input, std::int8_t* output) {
  std::int32_t out[kPadRank];
  for (int i = 0; i < kPadRank; ++i) out[i] = g.pre[i] + g.sizes[i] + g.post[i];
  for (std::int32_t a = 0; a < out[0]; ++a) {
    for (std::int32_t b = 0; b < out[1]; ++b) {
      for (std::int32_t c = 0; c < out[2]; ++c) {
        for (std::int32_t d = 0; d < out[3]; ++d) {
          const std::int32_t at[kPadRank] = {a - g.pre[0], b - g.pre[1], c - g.pre[2], d - g.pre[3]};
          bool inside = true;
          std::int64_t index = 0;
          for (int i = 0; i < kPadRank; ++i) {
            inside = inside && at[i] >= 0 && at[i] < g.sizes[i];
            index = index * g.sizes[i] + at[i];
          }
          *output++ = inside ? input[index] : value;
        }
      }
    }
  }
}

// By the plan, with the standard library's moves; tests hold it against pad_reference.
template <>
void execute_pad<Loops::reference>(const void* plan) {
  pad_with(
      *static_cast<const PadPlan*>(plan),
      [](std::int8_t* to, const std::int8_t* from, std::uint32_t count) { std::copy_n(from, count, to); },
      [](std::int8_t* to, std::int8_t value, std::uint32_t count) { std::fill_n(to, count, value); });
}

CORMORANT_REFERENCES(pad, CORMORANT_PAD_KERNELS)

}  // namespace cormorant::ops
