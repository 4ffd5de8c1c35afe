// SPDX-License-Identifier: Apache-2.0
#include "quantizer/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <variant>

#include "ops/host/multiplier.h"

namespace cormorant::quantizer {
namespace {

// Calls visit(channel, index) for every element; channel is 0 throughout without an axis.
template <class Visit>
void for_each_channel(const ir::Shape& shape, std::optional<std::int32_t> axis, Visit visit) {
  std::size_t inner = 1, channels = 1, count = 1;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    const auto size = static_cast<std::size_t>(shape[dim]);
    count *= size;
    if (axis && dim == static_cast<std::size_t>(*axis)) channels = size;
    if (axis && dim > static_cast<std::size_t>(*axis)) inner *= size;
  }
  for (std::size_t k = 0; k < count; ++k) visit(axis ? k / inner % channels : 0, k);
}

std::size_t channels_of(const ir::Shape& shape, std::optional<std::int32_t> axis) {
  return axis ? static_cast<std::size_t>(shape.at(static_cast<std::size_t>(*axis))) : 1;
}

template <class T>
IntegerConstant integers(const evaluate::Tensor& tensor, ir::QuantParams quant) {
  std::vector<T> data(tensor.values().size());
  for_each_channel(tensor.shape, quant.axis, [&](std::size_t channel, std::size_t k) {
    data[k] = static_cast<T>(ops::quantize_value(tensor.values()[k], quant.scales[channel], quant.zero_points[channel],
                                                 quant.qmin, quant.qmax));
  });
  ir::Bytes bytes = ir::Bytes::of(std::span<const T>(data));
  return {ir::quantized_type(tensor.shape, std::move(quant)), std::move(bytes)};
}

// With few levels the largest weight need not be the last of them: all others may gain more from a finer step than it
// loses by being clipped. The scale with the least squared error, among those that clip up to half.
void shrink(const evaluate::Tensor& weight, WeightScales& w) {
  constexpr int kTried = 32;
  const std::size_t channels = w.scales.size();
  std::vector<double> errors(channels * kTried, 0.0);
  const auto tried = [&](std::size_t channel, int k) { return w.scales[channel] * (1 - k / (2.0 * kTried)); };
  for_each_channel(weight.shape, w.axis, [&](std::size_t channel, std::size_t at) {
    const auto value = static_cast<double>(weight.values()[at]);
    for (int k = 0; k < kTried; ++k) {
      const double scale = tried(channel, k);
      const double level = std::clamp<double>(std::round(value / scale), -w.largest, w.largest);
      errors[channel * kTried + static_cast<std::size_t>(k)] += (value - level * scale) * (value - level * scale);
    }
  });
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const auto first = errors.begin() + static_cast<std::ptrdiff_t>(channel * kTried);
    w.scales[channel] = tried(channel, static_cast<int>(std::min_element(first, first + kTried) - first));
  }
}

// Levels that the largest magnitude of a channel may be: all weights are then whole numbers of them. None if there is
// no such number, as with weights of a float model.
std::optional<std::int32_t> whole_levels(const std::vector<double>& weights, std::int32_t largest) {
  constexpr double kWhole = 1e-4;        // of a level: far above what float32 leaves
  constexpr std::ptrdiff_t kFewest = 8;  // fewer may be whole by chance
  const auto [low, high] = std::ranges::minmax(weights);
  const double peak = std::max(-low, high);
  if (!std::isfinite(peak) || std::ranges::count_if(weights, [](double w) { return w != 0; }) < kFewest) return {};
  const auto are_whole = [&](std::int32_t levels) {
    if (std::round(high * levels / peak) > largest) return false;
    return std::ranges::all_of(weights, [&](double weight) {
      const double level = weight * levels / peak;
      return std::abs(level - std::round(level)) < kWhole;
    });
  };
  if (are_whole(largest)) return largest;
  for (std::int32_t levels = largest + 1; levels > 0; --levels) {
    if (are_whole(levels)) return levels;
  }
  return std::nullopt;
}

// Channels whose weights are whole levels keep their step.
void keep_steps(const evaluate::Tensor& weight, WeightScales& w) {
  std::vector<std::vector<double>> of_channel(w.scales.size());
  for_each_channel(weight.shape, w.axis, [&](std::size_t channel, std::size_t k) {
    of_channel[channel].push_back(static_cast<double>(weight.values()[k]));
  });
  for (std::size_t channel = 0; channel < of_channel.size(); ++channel) {
    const auto levels = whole_levels(of_channel[channel], w.largest);
    if (!levels) continue;
    double peak = 0;
    for (const double value : of_channel[channel]) peak = std::max(peak, std::abs(value));
    w.scales[channel] = peak / *levels;
    if (*levels > w.largest) w.lowest = -*levels;
  }
}

}  // namespace

WeightLimits WeightLimits::of(ops::Precision precision) {
  WeightLimits limits;
  if (precision == ops::Precision::w4a8) limits.largest = 7;
  if (precision == ops::Precision::w8a16) {
    limits.bias = 1 << 29;  // activations have 256 times finer units; sums and bias fit 32 bits together
    limits.unit = std::ldexp(1.0, -17);
  }
  return limits;
}

WeightScales weight_scales(const evaluate::Tensor& weight, std::optional<std::int32_t> axis,
                           const evaluate::Tensor* bias, double input_scale, const WeightLimits& limits) {
  if (axis && bias != nullptr && bias->values().size() != channels_of(weight.shape, axis)) axis.reset();
  std::vector<double> scales(channels_of(weight.shape, axis), 0.0);
  for_each_channel(weight.shape, axis, [&](std::size_t channel, std::size_t k) {
    scales[channel] = std::max(scales[channel], static_cast<double>(std::abs(weight.values()[k])) / limits.largest);
  });
  const double largest = scales.empty() ? 0 : *std::ranges::max_element(scales);
  for (double& scale : scales) {
    if (scale == 0) scale = largest > 0 ? largest : 1.0 / limits.largest;
  }
  WeightScales result{axis, std::move(scales), limits.largest, -limits.largest};
  constexpr std::int32_t kFew = 16;
  if (limits.largest < kFew) shrink(weight, result);
  keep_steps(weight, result);
  if (bias != nullptr) {
    for (std::size_t k = 0; k < bias->values().size(); ++k) {
      double& scale = result.scales[axis ? k : 0];
      scale = std::max(scale, static_cast<double>(std::abs(bias->values()[k])) / (input_scale * limits.bias));
    }
  }
  return result;
}

namespace {

// Products that are added need one unit, channel by channel the coarser of the two: the finer one loses no more than
// the coarser one's own rounding.
void give_one_unit(WeightScales& first, double first_factor, WeightScales& second, double second_factor) {
  for (std::size_t k = 0; k < std::min(first.scales.size(), second.scales.size()); ++k) {
    const double unit = std::max(first.scales[k] * first_factor, second.scales[k] * second_factor);
    first.scales[k] = unit / first_factor;
    second.scales[k] = unit / second_factor;
  }
}

}  // namespace

std::vector<WeightScales> weight_scales(const ir::Node& node, const ops::QuantRule& rule, const FactorScales& factors,
                                        ops::Precision precision) {
  const WeightLimits limits = WeightLimits::of(precision);
  std::vector<WeightScales> result(rule.weights.size());
  std::optional<std::size_t> before;  // the last weight that is not a bias
  for (std::size_t k = 0; k < rule.weights.size(); ++k) {
    const ops::QuantRule::Weight& weight = rule.weights[k];
    if (weight.is_bias) continue;
    std::optional<evaluate::Tensor> bias;
    if (k + 1 < rule.weights.size() && rule.weights[k + 1].is_bias && node.has(rule.weights[k + 1].argument)) {
      bias = evaluate::constant_tensor(*node.tensor(rule.weights[k + 1].argument));
    }
    const evaluate::Tensor tensor = evaluate::constant_tensor(*node.tensor(weight.argument));
    result[k] = weight_scales(tensor, weight.axis, bias ? &*bias : nullptr, factors.of(weight), limits);
    // Kernels whose sums become gates multiply them by 32 bits.
    const double finest = rule.words ? 0 : limits.unit * factors.result / factors.of(weight);
    for (double& scale : result[k].scales) scale = std::max(scale, finest);
    if (weight.times_result && before && precision != ops::Precision::w8a16) {
      give_one_unit(result[*before], factors.of(rule.weights[*before]), result[k], factors.of(weight));
    }
    before = k;
  }
  for (std::size_t k = 0; k < rule.weights.size(); ++k) {
    if (!rule.weights[k].is_bias) continue;
    if (k == 0) throw std::logic_error("the rule of " + node.op + " names a bias before its weight");
    result[k] = result[k - 1];
  }
  return result;
}

IntegerConstant integer_weight(const evaluate::Tensor& weight, const WeightScales& scales) {
  const std::vector<std::int32_t> zeros(scales.scales.size(), 0);
  return integers<std::int8_t>(weight, {DType::i8, scales.lowest, scales.largest, scales.axis, scales.scales, zeros});
}

IntegerConstant integer_bias(const evaluate::Tensor& bias, const WeightScales& weight_scales, double input_scale) {
  ir::QuantParams quant;
  quant.dtype = DType::i32;
  quant.qmin = std::numeric_limits<std::int32_t>::min();
  quant.qmax = std::numeric_limits<std::int32_t>::max();
  if (weight_scales.axis) quant.axis = 0;  // the bias has one dimension, whichever axis of the weight it goes with
  for (const double scale : weight_scales.scales) quant.scales.push_back(scale * input_scale);
  quant.zero_points.assign(quant.scales.size(), 0);
  return integers<std::int32_t>(bias, std::move(quant));
}

std::optional<IntegerConstant> with_room_for(const evaluate::Tensor& bias, const ir::Value& weights,
                                             std::optional<std::int32_t> axis, double input_scale) {
  constexpr double kMost = 1 << 30;  // as much remains for the products
  ir::QuantParams quant = weights.type.quant.value();
  if (quant.axis) axis = quant.axis;
  const std::size_t channels = channels_of(weights.type.shape, axis);
  if (weights.type.dtype != DType::i8 || bias.values().size() != channels) return std::nullopt;
  std::vector<double> factors(channels, 1.0);
  for (std::size_t k = 0; k < channels; ++k) {
    const double unit = input_scale * quant.scales[quant.per_channel() ? k : 0];
    const double units = static_cast<double>(std::abs(bias.values()[k])) / unit;
    if (units > std::numeric_limits<std::int32_t>::max() && std::isfinite(units)) {
      factors[k] = std::exp2(std::ceil(std::log2(units / kMost)));
    }
  }
  if (std::ranges::max(factors) == 1) return std::nullopt;
  if (!quant.per_channel()) {
    quant.axis = axis;
    quant.scales.resize(channels, quant.scales[0]);
    quant.zero_points.resize(channels, quant.zero_points[0]);
  }
  std::vector<std::int8_t> data(weights.data.as<std::int8_t>().begin(), weights.data.as<std::int8_t>().end());
  for_each_channel(weights.type.shape, axis, [&](std::size_t channel, std::size_t k) {
    const std::int32_t zero = quant.zero_points[channel];
    const double level = std::round((data[k] - zero) / factors[channel]) + zero;
    data[k] = static_cast<std::int8_t>(std::clamp<double>(level, quant.qmin, quant.qmax));
  });
  for (std::size_t k = 0; k < channels; ++k) quant.scales[k] *= factors[k];
  ir::TensorType type = weights.type;
  type.quant = std::move(quant);
  return IntegerConstant{std::move(type), ir::Bytes::of(std::span<const std::int8_t>(data))};
}

IntegerConstant integer_activation(const evaluate::Tensor& tensor, const ir::QuantParams& params) {
  switch (params.dtype) {
    case DType::i8:
      return integers<std::int8_t>(tensor, params);
    case DType::i16:
      return integers<std::int16_t>(tensor, params);
    default:
      throw std::logic_error("activations are int8 or int16");
  }
}

std::string describe_scales(bool per_channel, const std::vector<double>& scales, std::int32_t largest) {
  const auto [low, high] = std::ranges::minmax(scales);
  const char* type = largest <= 8 ? "int4" : "int8";
  if (!per_channel) return fmt::format("{} per tensor, scale {:.4g}", type, low);
  return fmt::format("{} per channel, {} scales from {:.4g} to {:.4g}", type, scales.size(), low, high);
}

const ir::Value* weight_of(const ir::Node& node) {
  const auto argument = std::ranges::find(node.args, "weight", &ir::NamedArgument::name);
  if (argument == node.args.end()) return nullptr;
  const auto* const tensor = std::get_if<ir::Value*>(&argument->value);
  return tensor == nullptr ? nullptr : *tensor;
}

ops::Precision precision_of(const ir::Node& node, const ir::Value& result) {
  if (result.type.dtype == DType::i16) return ops::Precision::w8a16;
  const ir::Value* const weight = weight_of(node);
  const bool has_nibbles = weight != nullptr && weight->type.quant && weight->type.quant->qmax <= 7;
  return has_nibbles ? ops::Precision::w4a8 : ops::Precision::w8a8;
}

}  // namespace cormorant::quantizer
