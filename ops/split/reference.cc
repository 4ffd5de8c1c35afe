// SPDX-License-Identifier: Apache-2.0
#include "ops/split/reference.h"

#include <algorithm>

namespace cormorant::ops {
namespace {

// Row by row, as the definition has it: the kernels go part by part.
void execute(const void* plan) {
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

}  // namespace

const Kernel kSplitWithSizesCopyReference = {SplitWithSizesCopy::kName, load_split_with_sizes_copy, execute};
const Kernel kSplitCopyReference = {SplitCopy::kName, load_split_copy, execute};

}  // namespace cormorant::ops
