// SPDX-License-Identifier: Apache-2.0
//
// What load() leaves for execute().
#pragma once

#include "kernels/conv_direct.h"
#include "ops/conv2d/kernel.h"
#include "ops/depthwise_conv2d/kernel.h"
#include "ops/transpose_conv2d/transpose_conv2d.h"
#include "runtime/kernel.h"

namespace cormorant::ops::transpose_conv2d {

struct PackedPlan {
  static constexpr std::uint32_t kStateBytes = 20;
  const Header* header;
  const std::int8_t* input;
  std::int8_t* scratch;
  std::int8_t* out;
  std::uint32_t out_bytes;
};

Error load_mve(Call& call);
Error load_dsp(Call& call);
Error load_scalar(Call& call);
Error load_v6m(Call& call);
Error load_dsp_depthwise(Call& call);
Error load_scalar_depthwise(Call& call);
Error load_mve_nibbles(Call& call);
Error load_dsp_nibbles(Call& call);
Error load_scalar_nibbles(Call& call);
Error load_direct(Call& call);  // the plan is a conv::Direct
Error load_direct_nhwc(Call& call);

// Computes each phase's convolution with one of conv2d's kernels.
template <class Convolve>
void for_phases(const PackedPlan& plan, Convolve convolve) {
  const Header& header = *plan.header;
  const auto* at = reinterpret_cast<const std::uint8_t*>(&header + 1);
  for (std::uint32_t i = 0; i < header.phases; ++i) {
    const auto& phase = *reinterpret_cast<const Phase*>(at);
    const auto& convolution = *reinterpret_cast<const conv::Header*>(&phase + 1);
    const std::uint32_t channels = convolution.geometry.out_channels;
    const std::uint32_t row = channels * header.out_width;
    convolve(conv2d::Convolution{convolution,
                                 reinterpret_cast<const std::uint8_t*>(&convolution + 1),
                                 plan.input,
                                 plan.scratch,
                                 {plan.out + phase.y * row + phase.x * channels, header.stride_width * channels,
                                  header.stride_height * row, header.out_height * row}});
    at += sizeof phase + phase.bytes;
  }
}

// Where the convolution leaves the clamp to whoever calls it: once, at the end.
template <void (*Convolve)(const conv2d::Convolution&),
          void (*Clamp)(std::int8_t*, std::uint32_t, std::int32_t, std::int32_t)>
void execute_phases(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  for_phases(plan, Convolve);
  Clamp(plan.out, plan.out_bytes, plan.header->activation_min, plan.header->activation_max);
}

}  // namespace cormorant::ops::transpose_conv2d
