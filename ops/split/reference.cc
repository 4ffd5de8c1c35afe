// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/host/references.h"
#include "ops/split/kernel.h"

namespace cormorant::ops {

// Row by row, as in the definition: the kernels go part by part.
template <>
void execute_split<Loops::reference>(const void* plan) {
  const auto& p = *static_cast<const SplitPlan*>(plan);
  const std::int8_t* from = p.input;
  for (std::uint32_t row = 0; row < p.rows; ++row) {
    for (std::uint32_t i = 0; i < p.count; ++i) {
      const SplitPart& part = p.parts()[i];
      std::copy_n(from, part.bytes, part.output + std::size_t{row} * part.bytes);
      from += part.bytes;
    }
  }
}

CORMORANT_REFERENCES(split, CORMORANT_SPLIT_KERNELS)

}  // namespace cormorant::ops
