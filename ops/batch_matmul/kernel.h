// SPDX-License-Identifier: Apache-2.0
//
// The plan of a batch matmul, for every variant's execute().
#pragma once

#include "kernels/conv_geometry.h"
#include "ops/batch_matmul/batch_matmul.h"
#include "runtime/kernel.h"

namespace cormorant::ops::batch_matmul {

struct Plan {
  static constexpr std::uint32_t kStateBytes = 48;
  const std::int8_t* lhs;
  const std::int8_t* rhs;
  std::int8_t* out;
  std::byte* scratch;
  Size size;
  std::uint32_t batches;
  std::int32_t multiplier;
  std::int16_t lhs_offset;
  std::int16_t rhs_offset;
  std::int16_t output_offset;
  std::int8_t shift;
  bool rhs_is_transposed;
  bool one_lhs;            // serves every batch
  bool simple_requantize;  // the shift is to the right by 1 … 21: as the loops in assembly require

  [[nodiscard]] std::uint32_t rhs_bytes() const { return size.inner * size.columns; }
  [[nodiscard]] std::uint32_t lhs_bytes() const { return one_lhs ? 0 : size.rows * size.inner; }
  // Distances between neighbours in the right side.
  [[nodiscard]] std::uint32_t inner_step() const { return rhs_is_transposed ? 1 : size.columns; }
  [[nodiscard]] std::uint32_t column_step() const { return rhs_is_transposed ? size.inner : 1; }
};

Error load(Call& call);
Error load_mve(Call& call);
Error load_dsp(Call& call);
Error load_scalar(Call& call);
Error load_v6m(Call& call);

// Calls compute(lhs, rhs, out) for each batch.
template <class Compute>
void for_batches(const Plan& p, Compute compute) {
  const std::int8_t* lhs = p.lhs;
  const std::int8_t* rhs = p.rhs;
  std::int8_t* out = p.out;
  for (std::uint32_t batch = p.batches; batch > 0; --batch) {
    compute(lhs, rhs, out);
    lhs += p.lhs_bytes();
    rhs += p.rhs_bytes();
    out += p.size.rows * p.size.columns;
  }
}

}  // namespace cormorant::ops::batch_matmul
