// SPDX-License-Identifier: Apache-2.0
//
// What load() leaves for execute(): pointers, and for programs that are not prepacked the geometry.
#pragma once

#include "kernels/conv_direct.h"
#include "ops/conv2d/conv2d.h"
#include "runtime/kernel.h"

namespace cormorant::ops::conv2d {

// Of a packed convolution, depthwise ones too: everything else stands in the constant's header.
struct PackedPlan {
  const conv::Header* header;
  const std::int8_t* input;
  std::int8_t* scratch;
  std::int8_t* out;

  [[nodiscard]] const std::uint8_t* stream() const { return reinterpret_cast<const std::uint8_t*>(header + 1); }
};

// What a packed constant and its kernel need of memory, for a geometry.
struct PackedShape {
  std::uint64_t stream_bytes;
  std::uint32_t scratch_bytes;
  // Records, each with `block` right shifts and as many left shifts behind them at `shifts_at`.
  std::uint32_t blocks;
  std::uint32_t block_bytes;
  std::uint32_t block;
  std::uint32_t shifts_at;
};
// Checks and plan of the packed form. `shape` is asked for the header's geometry only after `is_computable` accepted
// it.
struct PackedRules {
  bool (*is_computable)(const conv::Geometry& geometry);
  PackedShape (*shape)(const conv::Geometry& geometry);
};
Error load_packed(Call& call, const PackedRules& rules);

Error load_mve_1x1(Call& call);
Error load_mve_kxk(Call& call);
Error load_dsp(Call& call);
Error load_scalar(Call& call);
Error load_v6m(Call& call);

// cortex_m::quantized_conv2d.out on every instruction set: the plan is a conv::Direct.
Error load_direct(Call& call);

// What the two direct forms have in common: tensors, lists, offsets -> plan. `weight_channels` is the number of input
// channels in the weights.
struct DirectArguments {
  const Tensor& input;
  const Tensor& weight;
  const OptionalTensor& bias;
  const IntList& stride;
  const IntList& padding;
  const IntList& dilation;
  std::int32_t input_offset;
  std::int32_t output_offset;
  const Tensor& multipliers;
  const Tensor& shifts;
  std::int32_t activation_min;
  std::int32_t activation_max;
  const Tensor& scratch;
  const Tensor& out;
};
struct Window {
  std::int32_t height;
  std::int32_t width;
  std::int32_t group_channels;
  std::int32_t out_channels;
};
Error plan_direct(Call& call, const DirectArguments& args, const Window& window);

}  // namespace cormorant::ops::conv2d
