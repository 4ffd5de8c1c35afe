// SPDX-License-Identifier: Apache-2.0
//
// The compiler's side of layers with 8-bit weights and 16-bit activations: convolutions of all kinds, and linear layers
// as convolutions of one pixel. Host only.
#pragma once

#include "ops/conv2d/convolution.h"
#include "ops/conv2d/words.h"

namespace cormorant::ops::conv2d::words {

// A layer before its constants are laid out.
struct Layer {
  ir::Value* input = nullptr;
  conv::Geometry geometry;
  std::vector<std::int64_t> bias;
  std::vector<Factor> factors;
  Header header;  // all but geometry and stream_bytes
  WeightAt weight;
  std::uint32_t window = 0;  // weights of a channel

  // Whether no sum leaves 32 bits and kernels can multiply by every factor in one step.
  [[nodiscard]] bool is_fast() const;
};
// What does not depend on the geometry: bias, factors, bounds. Output channels are dimension `axis` of the weights.
Layer constants_of(const Rewriter& rewriter, std::int64_t channels);

// The node's weights in the order of windows: (channel, k) with k in the order ky, kx, input channel.
std::vector<std::int8_t> windows_of(const ir::Value& oihw);

// cormorant.conv2d.<variant>: the fastest for the target, or the one that is given.
ir::Value* emit(const Rewriter& rewriter, Layer layer, ir::TensorType result, const Variant* forced = nullptr);

// A quantized aten.conv2d, grouped or not.
ir::Value* lower(const Rewriter& rewriter);
Layer layer_of(const Rewriter& rewriter, std::vector<std::int8_t>& windows);

}  // namespace cormorant::ops::conv2d::words
