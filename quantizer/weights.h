// SPDX-License-Identifier: Apache-2.0
//
// Constants as integers: weights as symmetric int8 in [-127, 127], per channel or per tensor, so that no product of two
// operands needs an offset and pairs of products fit 16 bits; biases as int32 in units of the products they are added
// to.
#pragma once

#include <optional>
#include <vector>

#include "evaluate/tensor.h"
#include "ir/graph.h"
#include "ops/op.h"

namespace cormorant::quantizer {

// The tensor of weights; null if there is none. A norm's are numbers among its arguments.
[[nodiscard]] const ir::Value* weight_of(const ir::Node& node);
// What a quantized node computes that result with, by the types of result and weights.
[[nodiscard]] ops::Precision precision_of(const ir::Node& node, const ir::Value& result);

// One scale per index along the axis, or one for the whole tensor.
struct WeightScales {
  std::optional<std::int32_t> axis;
  std::vector<double> scales;
  std::int32_t largest = 127;  // magnitude of a weight: 7 for four bits
  std::int32_t lowest = -127;  // one less where weights that arrive as whole steps have it
};

// What a layer's precision requires of its weights.
struct WeightLimits {
  std::int32_t largest = 127;
  // In units of the products. With int8, a bias of half a step of the output then shifts right by no more than kernels
  // do at full speed (conv::kMaxShift), and the coarser scale costs the weights of such a channel far less than a step.
  double bias = 1 << 22;
  // The least that a unit of the products may be, in steps of the output; a coarser unit is as good, and kernels for 16
  // bits multiply by 16 bits of it.
  double unit = 0;
  [[nodiscard]] static WeightLimits of(ops::Precision precision);
};

// The largest magnitude of each channel becomes ±127, or, where the channel's weights are whole multiples of another
// step (integers that became numbers, or trained as such), what it is of that step: then none is rounded. A channel
// whose bias would be out of proportion in the resulting unit (its weights are close to zero) gets a coarser scale; a
// channel of zeros, the scale of the largest one. A bias that does not have one element per channel makes it one scale
// for all.
[[nodiscard]] WeightScales weight_scales(const evaluate::Tensor& weight, std::optional<std::int32_t> axis,
                                         const evaluate::Tensor* bias, double input_scale,
                                         const WeightLimits& limits = {});

// The scales of what a node's weights are multiplied by: its input, and in a recurrence its result.
struct FactorScales {
  double input = 1, result = 1;
  [[nodiscard]] double of(const ops::QuantRule::Weight& weight) const { return weight.times_result ? result : input; }
};

// The same for all that a node's rule names as weights, in the rule's order. A bias gets the scales of the weight
// before it in the rule.
[[nodiscard]] std::vector<WeightScales> weight_scales(const ir::Node& node, const ops::QuantRule& rule,
                                                      const FactorScales& factors,
                                                      ops::Precision precision = ops::Precision::w8a8);

struct IntegerConstant {
  ir::TensorType type;
  ir::Bytes data;
};
[[nodiscard]] IntegerConstant integer_weight(const evaluate::Tensor& weight, const WeightScales& scales);
[[nodiscard]] IntegerConstant integer_bias(const evaluate::Tensor& bias, const WeightScales& weight_scales,
                                           double input_scale);
// Weights that are integers already, with a coarser unit for each channel whose bias would not fit 32 bits of the
// products' unit; none if all do. The factor is a power of two: weights of 0 stay exact, others are rounded, by less
// than a result's own rounding if that has room for the bias.
[[nodiscard]] std::optional<IntegerConstant> with_room_for(const evaluate::Tensor& bias, const ir::Value& weights,
                                                           std::optional<std::int32_t> axis, double input_scale);
// A constant that is used as an activation.
[[nodiscard]] IntegerConstant integer_activation(const evaluate::Tensor& tensor, const ir::QuantParams& params);

// "int8 per channel, 16 scales from 0.001 to 0.02", for reports.
[[nodiscard]] std::string describe_scales(bool per_channel, const std::vector<double>& scales,
                                          std::int32_t largest = 127);

}  // namespace cormorant::quantizer
