// SPDX-License-Identifier: Apache-2.0
//
// The plan of a linear call, for every variant's execute().
#pragma once

#include "ops/linear/linear.h"
#include "runtime/kernel.h"

namespace cormorant::ops::linear {

// cormorant::linear.*: the rest is in the packed constant's header.
struct PackedPlan {
  static constexpr std::uint32_t kStateBytes = 16;
  const std::int8_t* input;
  const std::byte* packed;
  std::int8_t* out;
  std::uint32_t rows;

  [[nodiscard]] const PackedHeader& header() const { return *reinterpret_cast<const PackedHeader*>(packed); }
};

Error load_packed_scalar(Call& call);
Error load_packed_dsp_pairs(Call& call);
Error load_packed_dsp_wide(Call& call);
Error load_packed_rows(Call& call);
Error load_packed_mve(Call& call);

// cortex_m::quantized_linear.out: accumulator = bias[n] + Σ (input + input_offset) · weight. A call with kernel_sum,
// where the bias already includes the offset's part, has input_offset 0.
struct Plan {
  static constexpr std::uint32_t kStateBytes = 40;
  const std::int8_t* input;
  const std::int8_t* weights;
  const std::int32_t* bias;  // null: zeros
  std::int8_t* out;
  std::uint32_t rows;
  std::uint32_t inputs;
  std::uint32_t outputs;
  std::int32_t multiplier;
  std::int16_t input_offset;
  std::int16_t output_offset;
  std::int8_t shift;
  std::int8_t activation_min;
  std::int8_t activation_max;
};

Error load(Call& call);

}  // namespace cormorant::ops::linear
