// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/cat/kernel.h"
#include "ops/host/references.h"

namespace cormorant::ops {

// Row by row, as in the definition: the kernels go part by part.
template <>
void execute_cat<Loops::reference>(const void* plan) {
  const auto& p = *static_cast<const CatPlan*>(plan);
  for (std::uint32_t row = 0; row < p.rows; ++row) {
    for (std::uint32_t i = 0; i < p.count; ++i) {
      const CatPart& part = p.parts()[i];
      std::int8_t* const to = p.output + std::size_t{row} * p.row_bytes + part.offset;
      std::copy_n(part.input + std::size_t{row} * part.bytes, part.bytes, to);
    }
  }
}

CORMORANT_REFERENCES(cat, CORMORANT_CAT_KERNELS)

}  // namespace cormorant::ops
