// SPDX-License-Identifier: Apache-2.0
//
// What load() leaves for execute(): pointers, and for programs that are not prepacked the geometry.
#pragma once

#include "kernels/conv_direct.h"
#include "kernels/sum_factors.h"
#include "ops/conv2d/conv2d.h"
#include "runtime/kernel.h"

namespace cormorant::ops::conv2d {

// For a packed convolution, including depthwise ones: everything else is in the constant's header.
struct PackedPlan {
  static constexpr std::uint32_t kStateBytes = 16;
  const conv::Header* header;
  const std::int8_t* input;
  std::int8_t* scratch;
  std::int8_t* out;

  [[nodiscard]] const std::uint8_t* stream() const { return reinterpret_cast<const std::uint8_t*>(header + 1); }
};

// With a residual connection.
struct SummedPlan : PackedPlan {
  static constexpr std::uint32_t kStateBytes = PackedPlan::kStateBytes + 4 + sizeof(SumFactors);
  const std::int8_t* residual;
  SumFactors factors;
};

// Where the pixels of an output go: densely, or between those of others (transposed convolution).
struct Places {
  std::int8_t* out;
  std::uint32_t pixel;  // bytes from one to the next
  std::uint32_t row;
  std::uint32_t image;

  // All pixels are equally far apart.
  [[nodiscard]] bool is_one_row(const conv::Geometry& g) const {
    return row == pixel * g.out_width && image == row * g.out_height;
  }
};
inline Places dense_places(const conv::Geometry& g, std::int8_t* out) {
  const std::uint32_t row = std::uint32_t{g.out_width} * g.out_channels;
  return {out, g.out_channels, row, row * g.out_height};
}

// A packed convolution. All but MVE only saturate: the caller clamps the whole output once.
struct Convolution {
  const conv::Header& header;
  const std::uint8_t* stream;
  const std::int8_t* input;
  std::int8_t* scratch;
  Places places;
};
inline Convolution convolution_of(const PackedPlan& plan) {
  return {*plan.header, plan.stream(), plan.input, plan.scratch, dense_places(plan.header->geometry, plan.out)};
}
[[gnu::noinline]] void convolve_mve(const Convolution& c);
[[gnu::noinline]] void convolve_dsp(const Convolution& c);
[[gnu::noinline]] void convolve_dsp_groups(const Convolution& c);
[[gnu::noinline]] void convolve_dsp_wide(const Convolution& c);
[[gnu::noinline]] void convolve_scalar(const Convolution& c);
[[gnu::noinline]] void convolve_halves_of_nibbles(const Convolution& c);  // weights of −8 … 7
[[gnu::noinline]] void convolve_v6m(const Convolution& c);

// The memory that a packed constant and its kernel need for a geometry.
struct PackedShape {
  std::uint64_t stream_bytes;
  std::uint32_t scratch_bytes;  // CheckedSize::kOverflow: more than there is
  // Records, each with `block` right shifts and as many left shifts after them at `shifts_at`.
  std::uint32_t blocks;
  std::uint32_t block_bytes;
  std::uint32_t block;
  std::uint32_t shifts_at;
  std::uint32_t marks = 0;  // bits that left shifts may have besides
};
// Checks and plan of the packed form. `shape_of` is called for the header's geometry only after `is_computable`
// accepted it.
Error load_packed(Call& call, bool (*is_computable)(const conv::Geometry&),
                  PackedShape (*shape_of)(const conv::Geometry&));
// The packed shape of a variant for a geometry that it computes.
PackedShape packed_shape(const Variant& variant, const conv::Geometry& geometry);
// A header with the geometry that `shape` is for, and the stream after it.
bool is_sound_stream(const PackedShape& shape, const conv::Header& header, std::span<const std::uint8_t> stream);
bool is_activation(const Tensor& tensor);  // int8, channels-last

Error load_mve_1x1(Call& call);
Error load_mve_kxk(Call& call);
Error load_mve_row(Call& call);
Error load_mve_sum(Call& call);
Error load_dsp(Call& call);
Error load_dsp_groups(Call& call);
Error load_dsp_wide(Call& call);
Error load_scalar(Call& call);
Error load_v6m(Call& call);
Error load_halves(Call& call);
Error load_halves_groups(Call& call);
Error load_mve_prelu(Call& call);
Error load_mve_row_prelu(Call& call);
Error load_dsp_prelu(Call& call);
Error load_scalar_prelu(Call& call);
Error load_v6m_prelu(Call& call);
Error load_halves_prelu(Call& call);

// cortex_m::quantized_conv2d.out on every instruction set: the plan is a conv::Direct. Without a variant, constants are
// read as they are; else they are laid out for it if there is room.
Error load_direct(Call& call);
Error load_direct_nhwc(Call& call);
template <const Variant& V>
Error load_repacked(Call& call);
template <const Variant& V>
Error load_repacked_nhwc(Call& call);
extern template Error load_repacked<kMveKxk>(Call& call);
extern template Error load_repacked<kDsp>(Call& call);
extern template Error load_repacked<kScalar>(Call& call);
extern template Error load_repacked<kV6m>(Call& call);
extern template Error load_repacked_nhwc<kMveKxk>(Call& call);
extern template Error load_repacked_nhwc<kDsp>(Call& call);
extern template Error load_repacked_nhwc<kScalar>(Call& call);
extern template Error load_repacked_nhwc<kV6m>(Call& call);
// Room for the constants of some channels and for the packed kernel's scratch; none if there is too little.
void share_workspace(Call& call, const Variant& variant, conv::Direct& plan);
// The fastest rounding that all channels allow.
conv::Rounding rounding_of(const conv::Direct& plan);

// What the two direct forms have in common: tensors, lists, offsets -> plan. `weight_channels` is the number of input
// channels in the weights.
struct DirectArguments {
  const Tensor& input;
  const Tensor& weight;
  const OptionalTensor& bias;
  const IntPair& stride;
  const IntPair& padding;
  const IntPair& dilation;
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
