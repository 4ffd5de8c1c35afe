// SPDX-License-Identifier: Apache-2.0
#include "quantizer/rounding.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "evaluate/onednn.h"
#include "ops/nodes.h"
#include "quantizer/parallel.h"

namespace cormorant::quantizer {
namespace {

using evaluate::Tensor;

std::size_t size_at(const ir::Shape& shape, std::size_t dim) { return static_cast<std::size_t>(shape[dim]); }

// A layer as sums: every output channel of a group is a sum over `taps` inputs, at each of `positions` positions of a
// sample. A linear layer has one group, and its rows are the places; so has a recurrent one, whose rows are steps.
class Sums {
 public:
  Sums(const ir::Node& node, ir::Shape weight, const ir::Shape& input) : weight_(std::move(weight)) {
    taps = 1;
    for (std::size_t k = 1; k < weight_.size(); ++k) taps *= size_at(weight_, k);
    if (node.op != ops::nodes::aten_conv2d) {
      outputs = size_at(weight_, 0);
      positions = taps == 0 ? 0
                            : static_cast<std::size_t>(
                                  std::accumulate(input.begin(), input.end(), std::int64_t{1}, std::multiplies<>())) /
                                  taps;
      return;
    }
    is_convolution_ = true;
    groups = static_cast<std::size_t>(node.integer("groups"));
    outputs = size_at(weight_, 0) / groups;
    input_ = input;
    output_ = node.result()->type.shape;
    stride_ = node.integers("stride");
    dilation_ = node.integers("dilation");
    padding_ = node.integers("padding");
    positions = size_at(output_, 0) * size_at(output_, 2) * size_at(output_, 3);
  }

  std::size_t groups = 1, outputs = 0, taps = 0, positions = 0;  // outputs and taps of one group

  // What tap `tap` of the group reads at these positions. Padding reads zeros.
  void gather(std::span<const float> input, std::size_t group, std::size_t tap, std::span<const std::size_t> places,
              float* out) const {
    if (!is_convolution_) {
      for (const std::size_t place : places) *out++ = input[place * taps + tap];
      return;
    }
    const std::size_t width = size_at(output_, 3), height = size_at(output_, 2);
    const auto kernel_h = static_cast<std::size_t>(weight_[2]), kernel_w = static_cast<std::size_t>(weight_[3]);
    const std::size_t channel = group * size_at(weight_, 1) + tap / (kernel_h * kernel_w);
    const auto down = static_cast<std::int64_t>(tap / kernel_w % kernel_h) * dilation_[0] - padding_[0];
    const auto right = static_cast<std::int64_t>(tap % kernel_w) * dilation_[1] - padding_[1];
    for (const std::size_t place : places) {
      const auto y = static_cast<std::int64_t>(place / width % height) * stride_[0] + down;
      const auto x = static_cast<std::int64_t>(place % width) * stride_[1] + right;
      const std::size_t plane = place / (width * height) * size_at(input_, 1) + channel;
      const bool inside = y >= 0 && y < input_[2] && x >= 0 && x < input_[3];
      const auto at = (static_cast<std::int64_t>(plane) * input_[2] + y) * input_[3] + x;
      *out++ = inside ? input[static_cast<std::size_t>(at)] : 0.0F;
    }
  }

 private:
  bool is_convolution_ = false;
  ir::Shape weight_, input_, output_;
  std::vector<std::int64_t> stride_, dilation_, padding_;
};

// Evenly spread over the sample.
std::vector<std::size_t> spread(std::size_t positions, std::size_t wanted) {
  std::vector<std::size_t> places(std::min(positions, wanted));
  for (std::size_t k = 0; k < places.size(); ++k) places[k] = k * positions / places.size();
  return places;
}

// The inputs of one group as a matrix: a row per tap, a column per place.
Tensor inputs_of(const Sums& sums, const std::vector<Tensor>& inputs, std::size_t group, bool centered) {
  // Enough columns to know the correlations, few enough for memory and time.
  const std::size_t wanted = std::clamp<std::size_t>(2 * sums.taps, 512, 4096);
  const std::vector<std::size_t> places = spread(sums.positions, std::max<std::size_t>(1, wanted / inputs.size()));
  const std::size_t columns = places.size() * inputs.size();
  std::vector<float> rows(sums.taps * columns);
  for (std::size_t tap = 0; tap < sums.taps; ++tap) {
    float* row = rows.data() + tap * columns;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      sums.gather(inputs[k].values(), group, tap, places, row + k * places.size());
    }
    if (!centered) continue;
    double sum = 0;
    for (std::size_t k = 0; k < columns; ++k) sum += static_cast<double>(row[k]);
    const auto mean = static_cast<float>(sum / static_cast<double>(columns));
    for (std::size_t k = 0; k < columns; ++k) row[k] -= mean;
  }
  return {{static_cast<std::int64_t>(sums.taps), static_cast<std::int64_t>(columns)}, std::move(rows)};
}

// Second moments of the inputs. With few columns, correlations are partly chance: the fewer columns per row, the less
// they count, so that a rounding that suits these samples suits others too.
Tensor moments_of(const Tensor& rows, std::size_t threads) {
  const std::size_t taps = size_at(rows.shape, 0), columns = size_at(rows.shape, 1);
  constexpr std::size_t kPanel = 128;
  const std::size_t panels = (taps + kPanel - 1) / kPanel;
  const float trust = static_cast<float>(columns) / static_cast<float>(columns + taps);
  std::vector<float> moments(taps * taps);
  parallel_for(panels, thread_count(threads, panels), [&](std::size_t panel, std::size_t) {
    const std::size_t first = panel * kPanel, count = std::min(kPanel, taps - first);
    const Tensor products = evaluate::gram(rows, first, count);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < taps; ++j) {
        const float product = products.values()[i * taps + j];
        moments[(first + i) * taps + j] = first + i == j ? product : trust * product;
      }
    }
  });
  return {{rows.shape[0], rows.shape[0]}, std::move(moments)};
}

// One output channel: errors in units of a step, and the gradient of the squared error (half of it).
void descend(std::span<const float> moments, std::span<float> error, std::span<float> gradient,
             std::span<std::int8_t> weights, std::int32_t largest) {
  constexpr int kSweeps = 8;
  const std::size_t taps = error.size();
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool changed = false;
    for (std::size_t i = 0; i < taps; ++i) {
      const float* row = moments.data() + i * taps;
      const float step = error[i] > 0 ? -1.0F : 1.0F;
      const int moved = weights[i] + static_cast<int>(step);
      constexpr float kWorthIt = 1e-3F;  // of the error that the weight makes alone: rounding of floats does not decide
      if (error[i] == 0 || std::abs(moved) > largest) continue;
      if (2 * step * gradient[i] + row[i] >= -kWorthIt * row[i]) continue;
      weights[i] = static_cast<std::int8_t>(moved);
      error[i] += step;
      for (std::size_t j = 0; j < taps; ++j) gradient[j] += step * row[j];
      changed = true;
    }
    if (!changed) return;
  }
}

}  // namespace

std::vector<std::string> refinable_weights(const ir::Graph& graph, const ir::Node& node) {
  std::vector<std::string> arguments;
  if (node.op == ops::nodes::aten_conv2d || node.op == ops::nodes::aten_linear) arguments = {"weight"};
  if (node.op == ops::nodes::aten_recurrent) arguments = {"w_ih", "w_hh"};
  if (!arguments.empty() && !node.tensor("input")->type.quant) return {};
  std::erase_if(arguments, [&](const std::string& argument) {
    const ir::Value* weight = node.tensor(argument);
    return weight->kind != ir::ValueKind::constant || weight->type.dtype != DType::i8 || !weight->type.quant ||
           graph.users(weight).size() != 1;
  });
  return arguments;
}

RoundedWeights refine_weights(const ir::Node& node, const std::string& argument, const Tensor& real,
                              const std::vector<Tensor>& inputs, bool has_bias, std::size_t threads) {
  const ir::Value* weight = node.tensor(argument);
  const ir::QuantParams& quant = *weight->type.quant;
  const std::span<const std::int8_t> nearest = weight->data.as<std::int8_t>();
  RoundedWeights rounded{{nearest.begin(), nearest.end()}, 0};
  const Sums sums(node, weight->type.shape, inputs.at(0).shape);
  if (sums.positions == 0 || nearest.empty()) return rounded;
  const bool many_groups = sums.groups > 1;
  parallel_for(sums.groups, many_groups ? thread_count(threads, sums.groups) : 1, [&](std::size_t group, std::size_t) {
    const std::size_t inner_threads = many_groups ? 1 : threads;
    const Tensor moments = moments_of(inputs_of(sums, inputs, group, has_bias), inner_threads);
    constexpr std::size_t kBlock = 32;
    const std::size_t blocks = (sums.outputs + kBlock - 1) / kBlock;
    parallel_for(blocks, thread_count(inner_threads, blocks), [&](std::size_t block, std::size_t) {
      const std::size_t first = block * kBlock, count = std::min(kBlock, sums.outputs - first);
      const std::size_t begin = (group * sums.outputs + first) * sums.taps;
      std::vector<float> errors(count * sums.taps);
      for (std::size_t k = 0; k < errors.size(); ++k) {
        const std::size_t channel = group * sums.outputs + first + k / sums.taps;
        const double scale = quant.scales[quant.per_channel() ? channel : 0];
        errors[k] = static_cast<float>(nearest[begin + k] - static_cast<double>(real.values()[begin + k]) / scale);
      }
      const Tensor start({static_cast<std::int64_t>(count), static_cast<std::int64_t>(sums.taps)}, errors);
      const Tensor product = evaluate::matmul(start, moments);
      std::vector<float> gradients(product.values().begin(), product.values().end());
      for (std::size_t c = 0; c < count; ++c) {
        descend(moments.values(), std::span(errors).subspan(c * sums.taps, sums.taps),
                std::span(gradients).subspan(c * sums.taps, sums.taps),
                std::span(rounded.weights).subspan(begin + c * sums.taps, sums.taps), quant.qmax);
      }
    });
  });
  for (std::size_t k = 0; k < nearest.size(); ++k) rounded.changed += rounded.weights[k] != nearest[k] ? 1 : 0;
  return rounded;
}

}  // namespace cormorant::quantizer
