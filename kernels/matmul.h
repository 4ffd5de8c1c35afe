// SPDX-License-Identifier: Apache-2.0
//
// The product of int8 rows and packed columns, with one requantization for all: batch_matmul on MVE, where neither
// side's offset can be added to bytes and both become terms of rows and columns.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cormorant {

// 4 columns × 2 rows at a time. `stream` holds, per block of four columns, their terms (int32) and then, for every 16
// of the inner dimension, 16 bytes of each; the last 16 are padded with anything. Writes 4 · `blocks` columns of each
// row, then continues with the next pair of rows: `lhs_step` and `out_step` bytes further, with the next two
// `row_terms`.
struct MveMatmul {
  const std::byte* stream;
  const std::int8_t* lhs0;
  const std::int8_t* lhs1;
  std::int8_t* out0;
  std::int8_t* out1;
  std::uint32_t inner;
  std::uint32_t blocks;  // at least one
  std::uint32_t pairs;   // at least one
  std::uint32_t lhs_step;
  std::uint32_t out_step;
  const std::int32_t* row_terms;
  std::int32_t multiplier;
  std::int32_t left;   // shift, not negative
  std::int32_t right;  // shift, not positive
  std::int32_t offset;
};
extern "C" void cormorant_matmul_mve(const MveMatmul* matmul);  // `inner` is at least 16
// The same in intrinsics, for any `inner`.
void matmul_mve_plain(const MveMatmul& matmul);

}  // namespace cormorant
