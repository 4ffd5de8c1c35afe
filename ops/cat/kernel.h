// SPDX-License-Identifier: Apache-2.0
//
// Seen from the axis, every tensor is one chunk of contiguous bytes per index of the dimensions outside it; the output
// has the tensors' chunks next to each other. The loop is the same for any element size, rank and memory order.
#pragma once

#include "kernels/move.h"
#include "ops/cat/cat.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

struct CatPart {
  const std::int8_t* input;
  std::uint32_t bytes;  // of a chunk
};

struct CatPlan {
  std::int8_t* output;
  std::uint32_t rows;
  std::uint32_t row_bytes;
  std::uint32_t count;
  // followed by count CatParts
  [[nodiscard]] const CatPart* parts() const { return reinterpret_cast<const CatPart*>(this + 1); }
};

Error load_cat(Call& call);
Error load_stack(Call& call);

template <Loops kLoops>
void execute_cat(const void* plan) {
  const auto& p = *static_cast<const CatPlan*>(plan);
  std::int8_t* to = p.output;
  const CatPart* const end = p.parts() + p.count;
  for (const CatPart* part = p.parts(); part != end; ++part) {
    const auto bytes = static_cast<std::int32_t>(part->bytes);
    copy_rows<kLoops>(to, part->input, {p.rows, part->bytes, static_cast<std::int32_t>(p.row_bytes), bytes});
    to += bytes;
  }
}

}  // namespace cormorant::ops
