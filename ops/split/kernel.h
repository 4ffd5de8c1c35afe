// SPDX-License-Identifier: Apache-2.0
//
// The reverse of a concatenation: the input has the outs' chunks next to each other.
#pragma once

#include "kernels/move.h"
#include "ops/split/split.h"

namespace cormorant::ops {

struct SplitPart {
  static constexpr std::uint32_t kStateBytes = 8;
  std::int8_t* output;
  std::uint32_t bytes;  // of a chunk
};

struct SplitPlan {
  static constexpr std::uint32_t kStateBytes = 16;
  const std::int8_t* input;
  std::uint32_t rows;
  std::uint32_t row_bytes;
  std::uint32_t count;
  // followed by count SplitParts
  [[nodiscard]] const SplitPart* parts() const { return reinterpret_cast<const SplitPart*>(this + 1); }
};

Error load_split_with_sizes_copy(Call& call);
Error load_split_copy(Call& call);
Error load_unbind_copy(Call& call);

template <Loops kLoops>
void execute_split(const void* plan) {
  const auto& p = *static_cast<const SplitPlan*>(plan);
  if (p.rows == 0) return;
  const std::int8_t* from = p.input;
  const SplitPart* const end = p.parts() + p.count;
  for (const SplitPart* part = p.parts(); part != end; ++part) {
    const auto bytes = static_cast<std::int32_t>(part->bytes);
    copy_rows<kLoops>(part->output, from, {p.rows, part->bytes, bytes, static_cast<std::int32_t>(p.row_bytes)});
    from += bytes;
  }
}

}  // namespace cormorant::ops
