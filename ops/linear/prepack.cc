// SPDX-License-Identifier: Apache-2.0
//
// Lays a linear layer's constants out for one instruction set's inner loop (linear.h says how).
#include "ops/linear/prepack.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/fixed_point.h"
#include "ops/host/channel_sums.h"
#include "ops/linear/linear.h"

namespace cormorant::ops::linear {
namespace {

// A layer's constants in plain form.
struct Layer {
  std::uint32_t inputs;
  std::uint32_t outputs;
  std::span<const std::int8_t> weights;  // [outputs, inputs]
  std::vector<std::int32_t> bias;        // folded
  std::vector<Multiplier> multipliers;   // one per output
  std::vector<bool> is_constant;         // features whose result is that of their bias: their weights count as zeros
  PackedHeader header;

  [[nodiscard]] std::int32_t weight(std::uint32_t output, std::uint32_t input) const {
    return is_constant[output] ? 0 : weights[std::size_t{output} * inputs + input];
  }
  [[nodiscard]] std::int64_t magnitude(std::uint32_t output) const {
    std::int64_t sum = 0;
    for (std::uint32_t k = 0; k < inputs; ++k) sum += std::abs(weight(output, k));
    return sum;
  }
};

void find_constant(Layer& layer, std::uint32_t n) {
  std::int64_t sum = 0;
  for (std::uint32_t k = 0; k < layer.inputs; ++k) sum += layer.weight(n, k);
  const PackedHeader& header = layer.header;
  const std::optional<std::int32_t> constant =
      constant_result(ChannelSums::of(layer.bias[n], sum, layer.magnitude(n)), layer.multipliers[n],
                      {header.output_offset, header.activation_min, header.activation_max});
  if (!constant) return;
  layer.is_constant[n] = true;
  layer.bias[n] = constant_bias(*constant, header.output_offset);
  layer.multipliers[n] = kConstantMultiplier;
}

Layer read_layer(const QuantizedLinear<HostWorld>& call) {
  Layer layer{};
  layer.outputs = static_cast<std::uint32_t>(call.weights->type.shape[0]);
  layer.inputs = static_cast<std::uint32_t>(call.weights->type.shape[1]);
  layer.weights = call.weights->data.as<std::int8_t>();
  if (call.kernel_sum.value != nullptr) {
    const auto sums = call.kernel_sum.value->data.as<std::int32_t>();
    layer.bias.assign(sums.begin(), sums.end());
  } else {
    layer.bias = folded_bias(*call.weights, call.bias.value, static_cast<std::int32_t>(call.input_offset));
  }
  for (std::uint32_t n = 0; n < layer.outputs; ++n) {
    const std::size_t i = call.requantize_multipliers.size() == 1 ? 0 : n;
    const Multiplier m{static_cast<std::int32_t>(call.requantize_multipliers.at(i)),
                       static_cast<std::int32_t>(call.requantize_shifts.at(i))};
    layer.multipliers.push_back(m);
  }
  layer.header = {.inputs = layer.inputs,
                  .outputs = layer.outputs,
                  .output_offset = static_cast<std::int16_t>(call.output_offset),
                  .activation_min = static_cast<std::int8_t>(call.activation_min),
                  .activation_max = static_cast<std::int8_t>(call.activation_max),
                  .layout = 0,
                  .flags = 0,
                  .part = 0};
  layer.is_constant.assign(layer.outputs, false);
  for (std::uint32_t n = 0; n < layer.outputs; ++n) find_constant(layer, n);
  return layer;
}

bool requantizes_simply(const Layer& layer) {
  for (std::uint32_t n = 0; n < layer.outputs; ++n) {
    const std::int64_t bound = std::abs(std::int64_t{layer.bias[n]}) + 128 * layer.magnitude(n);
    if (layer.multipliers[n].shift > -1 || bound >= (std::int64_t{1} << 30)) return false;
  }
  return true;
}

bool fits_pairs(const Layer& layer) {
  const std::uint32_t grouped = layer.outputs / 4 * 4;
  for (std::uint32_t n = 0; n < grouped; n += 2) {
    for (std::uint32_t k = 0; k < layer.inputs; ++k) {
      if (!pairs_can_carry(layer.weight(n, k), layer.weight(n + 1, k))) return false;
    }
  }
  return true;
}

// Whether the sum of B fits its bits in all pairs if it is separated every `part` blocks of inputs.
bool fits_parts(const Layer& layer, std::uint32_t part) {
  const std::uint32_t grouped = layer.outputs / 4 * 4;
  const std::uint32_t blocks = layer.inputs / 4;  // the remaining inputs go with the last part
  for (std::uint32_t n = 1; n < grouped; n += 2) {
    for (std::uint32_t first = 0; first < std::max(blocks, 1U); first += part) {
      const std::uint32_t end = first + part >= blocks ? layer.inputs : 4 * (first + part);
      std::int64_t sum = 0;
      for (std::uint32_t k = 4 * first; k < end; ++k) sum += std::abs(layer.weight(n, k));
      if (!pairs_can_carry(sum)) return false;
    }
  }
  return true;
}

// As few parts as suffice; 0 means one.
std::uint16_t part_of(const Layer& layer) {
  const std::uint32_t blocks = layer.inputs / 4;
  std::uint32_t part = blocks;
  for (std::uint32_t parts = 2; part > 0xffff || !fits_parts(layer, std::max(part, 1U)); ++parts) {
    part = (blocks + parts - 1) / parts;
  }
  return static_cast<std::uint16_t>(part == blocks ? 0 : part);
}

Layout choose_layout(const Layer& layer, const Target& target) {
  switch (target.isa) {
    case Isa::scalar:
      return Layout::scalar;
    case Isa::dsp:
      // With 16-bit weights there are fewer instructions but no fewer cycles: a load of four words takes five. Two
      // adjacent weights of −128 are worth twice the flash to few layers, and to none that we quantize.
      if (!fits_pairs(layer)) return target.optimize == Optimize::size ? Layout::rows : Layout::dsp_wide;
      return Layout::dsp_pairs;
    case Isa::mve:
      return Layout::mve;
  }
  return Layout::scalar;
}

// The byte that represents a weight.
std::uint8_t stored_weight(const Layer& layer, const PackedGeometry& geometry, std::uint32_t output,
                           std::uint32_t input) {
  const PackedGeometry::Place place = geometry.place(output);
  std::int32_t weight = layer.weight(output, input);
  if (place.grouped && geometry.layout == Layout::scalar) weight += 128;
  const bool is_upper = place.grouped && geometry.layout == Layout::dsp_pairs && place.feature % 2 == 1;
  if (is_upper && layer.weight(output - 1, input) < 0) weight -= 1;  // A + 256 · B borrows
  return static_cast<std::uint8_t>(weight);
}

std::vector<std::uint8_t> pack(const Layer& layer, Layout layout) {
  const PackedGeometry geometry{layout, layer.inputs, layer.outputs};
  std::vector<std::uint8_t> packed(geometry.bytes());
  PackedHeader header = layer.header;
  header.layout = static_cast<std::uint8_t>(layout);
  if (requantizes_simply(layer)) header.flags |= kSimpleRequantize;
  if (layout == Layout::dsp_pairs) header.part = part_of(layer);
  std::memcpy(packed.data(), &header, sizeof(header));
  for (std::uint32_t n = 0; n < layer.outputs; ++n) {
    const PackedGeometry::Place place = geometry.place(n);
    const auto [multiplier, shift] = layer.multipliers[n];
    std::memcpy(packed.data() + geometry.bias_offset(place), &layer.bias[n], sizeof(std::int32_t));
    std::memcpy(packed.data() + geometry.multiplier_offset(place), &multiplier, sizeof(std::int32_t));
    packed[geometry.shift_offset(place)] = static_cast<std::uint8_t>(shift);
    for (std::uint32_t k = 0; k < layer.inputs; ++k) {
      packed[geometry.weight_offset(place, k)] = stored_weight(layer, geometry, n, k);
      if (place.grouped && weight_bytes_of(layout) == 2) {
        packed[geometry.weight_offset(place, k) + 1] = layer.weight(n, k) < 0 ? 0xff : 0;
      }
    }
  }
  // Padding of a group computes nothing, with a shift that all kernels accept.
  for (std::uint32_t n = layer.outputs; n < geometry.groups() * geometry.group(); ++n) {
    packed[geometry.shift_offset(geometry.place(n))] = static_cast<std::uint8_t>(-1);
  }
  return packed;
}

}  // namespace

std::vector<std::int32_t> folded_bias(const ir::Value& weight, const ir::Value* bias, std::int32_t input_offset) {
  const auto outputs = static_cast<std::size_t>(weight.type.shape[0]);
  const auto inputs = static_cast<std::size_t>(weight.type.shape[1]);
  const auto weights = weight.data.as<std::int8_t>();
  std::vector<std::int32_t> sums(outputs);
  for (std::size_t n = 0; n < outputs; ++n) {
    std::int64_t sum = bias == nullptr ? 0 : bias->data.as<std::int32_t>()[n];
    for (std::size_t k = 0; k < inputs; ++k) sum += std::int64_t{input_offset} * weights[n * inputs + k];
    sums[n] = static_cast<std::int32_t>(sum);
  }
  return sums;
}

ir::Value* prepack(const Rewriter& rewriter) {
  const auto call = read_node<QuantizedLinear<HostWorld>>(rewriter.node);
  if (call.weights->kind != ir::ValueKind::constant) return nullptr;
  const Layer layer = read_layer(call);
  if (layer.inputs == 0 || layer.inputs > kMaxFeatures || layer.outputs > kMaxFeatures) return nullptr;
  const Layout layout = choose_layout(layer, rewriter.config.target);
  const std::vector<std::uint8_t> packed = pack(layer, layout);
  ir::Value* constant = rewriter.constant("packed",
                                          ir::TensorType{.dtype = DType::i8,
                                                         .shape = {static_cast<std::int64_t>(packed.size())},
                                                         .dim_order = {},
                                                         .quant = std::nullopt},
                                          std::span<const std::uint8_t>(packed));
  for (const Variant& variant : kVariants) {
    if (variant.layout != layout || variant.isa != rewriter.config.target.isa) continue;
    return rewriter
        .emit(PackedLinear<HostWorld>{.input = call.input, .packed = constant}, rewriter.node.result()->type,
              variant.name)
        ->result();
  }
  return nullptr;
}

}  // namespace cormorant::ops::linear
