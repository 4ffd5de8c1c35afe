// SPDX-License-Identifier: Apache-2.0
//
// Seen from the axis, every tensor is one chunk of contiguous bytes per index of the dimensions outside it; the output
// has the tensors' chunks next to each other. The loop is the same for any element size, rank and memory order.
//
// One of the tensors may be in the output's memory, so far after its beginning that no chunk is written over one that
// is still to be read. It is copied first.
#pragma once

#include "kernels/move.h"
#include "ops/cat/cat.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

struct CatPart {
  static constexpr std::uint32_t kStateBytes = 12;
  const std::int8_t* input;
  std::uint32_t bytes;   // of a chunk
  std::uint32_t offset;  // of the first chunk in the output
};

struct CatPlan {
  static constexpr std::uint32_t kStateBytes = 16;
  std::int8_t* output;
  std::uint32_t rows;
  std::uint32_t row_bytes;
  std::uint32_t count;
  // followed by count CatParts, in any order
  [[nodiscard]] const CatPart* parts() const { return reinterpret_cast<const CatPart*>(this + 1); }
};

Error load_cat(Call& call);
Error load_stack(Call& call);

template <Loops kLoops>
void execute_cat(const void* plan) {
  const auto& p = *static_cast<const CatPlan*>(plan);
  const CatPart* const end = p.parts() + p.count;
  for (const CatPart* part = p.parts(); part != end; ++part) {
    const auto bytes = static_cast<std::int32_t>(part->bytes);
    copy_rows<kLoops>(p.output + part->offset, part->input,
                      {p.rows, part->bytes, static_cast<std::int32_t>(p.row_bytes), bytes});
  }
}

}  // namespace cormorant::ops
