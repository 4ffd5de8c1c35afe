// SPDX-License-Identifier: Apache-2.0
#include "ops/cat/reference.h"

#include <algorithm>

namespace cormorant::ops {
namespace {

// Row by row, as the definition has it: the kernels go part by part.
void execute(const void* plan) {
  const auto& p = *static_cast<const CatPlan*>(plan);
  std::int8_t* to = p.output;
  for (std::uint32_t row = 0; row < p.rows; ++row) {
    for (std::uint32_t i = 0; i < p.count; ++i) {
      const CatPart& part = p.parts()[i];
      to = std::copy_n(part.input + std::size_t{row} * part.bytes, part.bytes, to);
    }
  }
}

}  // namespace

const Kernel kCatReference = {Cat<TargetWorld>::kName, load_cat, execute};

}  // namespace cormorant::ops
