// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/diagnostic.h"
#include "kernels/window.h"
#include "ops/host/advice.h"
#include "ops/host/multiplier.h"
#include "ops/host/words.h"
#include "ops/nodes.h"
#include "ops/op.h"
#include "ops/reduce/reduce.h"

namespace cormorant::ops {
namespace {

[[noreturn]] void reject(const ir::Node& node, std::string problem, std::string advice) {
  throw InputError(
      {.problem = std::move(problem), .advice = std::move(advice), .node = node.name, .source = node.location.text()});
}

bool is_sum(const ir::Node& node) { return node.op == nodes::aten_sum; }
bool is_mean(const ir::Node& node) { return node.op == nodes::aten_mean || is_sum(node); }

std::vector<ir::TensorType> infer(const ir::Node& node) {
  ir::TensorType type = node.tensor("self")->type;
  std::vector<std::int64_t> dims = node.integers("dim");
  std::ranges::sort(dims);
  if (dims.empty() || std::ranges::adjacent_find(dims) != dims.end()) {
    reject(node, "a reduction over no dimension, or over the same one twice", {});
  }
  if (type.elements() == 0) reject(node, "a reduction of an empty tensor", {});
  for (const std::int64_t dim : dims) {
    if (dim < 0 || dim >= static_cast<std::int64_t>(type.rank())) {
      reject(node, "a reduction over dimension " + std::to_string(dim) + ", which its input does not have", {});
    }
    type.shape[static_cast<std::size_t>(dim)] = 1;
  }
  return {std::move(type)};
}

std::int64_t reduced_elements(const ir::Node& node) {
  return node.tensor("self")->type.elements() / std::max<std::int64_t>(1, infer(node).front().elements());
}

// combine(result so far, another element), from `first` on; `shape` has 1 along reduced dimensions.
template <class Combine>
std::vector<double> reduced(const evaluate::Tensor& input, const ir::Shape& shape, double first, Combine combine) {
  // The output's strides, 0 along reduced dimensions.
  std::vector<std::size_t> strides(shape.size(), 0);
  std::size_t elements = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == input.shape[i]) strides[i] = elements;
    elements *= static_cast<std::size_t>(shape[i]);
  }
  std::vector<double> out(elements, first);
  std::vector<std::int64_t> at(shape.size(), 0);
  std::size_t index = 0;
  for (const float value : input.values()) {
    out[index] = combine(out[index], static_cast<double>(value));
    for (std::size_t i = at.size(); i-- > 0;) {
      index += strides[i];
      if (++at[i] < input.shape[i]) break;
      index -= strides[i] * static_cast<std::size_t>(input.shape[i]);
      at[i] = 0;
    }
  }
  return out;
}

double sum_of(double a, double b) { return a + b; }
double largest_of(double a, double b) { return std::max(a, b); }
double smallest_of(double a, double b) { return std::min(a, b); }

evaluate::Tensor summed(const evaluate::Tensor& input, const ir::Shape& shape) {
  const std::vector<double> sums = reduced(input, shape, 0, sum_of);
  return {shape, std::vector<float>(sums.begin(), sums.end())};
}

std::vector<evaluate::Tensor> evaluate_reduce(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor& input = frame.get(node.tensor("self"));
  const ir::Shape shape = infer(node).front().shape;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> out = is_mean(node)                 ? reduced(input, shape, 0, sum_of)
                            : node.op == nodes::aten_amax ? reduced(input, shape, -kInfinity, largest_of)
                                                          : reduced(input, shape, kInfinity, smallest_of);
  if (node.op == nodes::aten_mean) {
    for (double& sum : out) sum /= static_cast<double>(reduced_elements(node));
  }
  return {evaluate::Tensor(shape, std::vector<float>(out.begin(), out.end()))};
}

// ---- a mean over a window that moves on: what passes/stream.cc makes of a mean over time ----------------------------

constexpr const char* kMoving = nodes::aten_moving_mean;

std::int64_t taps_of_part(const ir::Node& node) {
  const ir::TensorType& type = node.tensor("self")->type;
  const std::int64_t fresh = type.shape.at(static_cast<std::size_t>(node.integer("axis")));
  return type.elements() / infer(node).front().elements() / fresh * node.integer("entries");
}

std::vector<ir::TensorType> infer_moving(const ir::Node& node) {
  ir::TensorType mean = infer(node).front();
  const ir::TensorType &past = node.tensor("past")->type, &sums = node.tensor("sums")->type;
  const ir::Shape& shape = node.tensor("self")->type.shape;
  const std::int64_t axis = node.integer("axis"), entries = node.integer("entries");
  const auto& dims = node.integers("dim");
  if (std::ranges::find(dims, axis) == dims.end() || entries < 1 ||
      shape.at(static_cast<std::size_t>(axis)) % entries != 0) {
    reject(node, "a moving mean's parts do not fit its input", kInconsistent);
  }
  const std::int64_t results = mean.elements(), taps = taps_of_part(node);
  const DType dtype = node.tensor("self")->type.dtype;
  if ((dtype != DType::i8 && dtype != DType::i16) || !node.tensor("self")->type.quant || past.rank() != 2 ||
      past.shape[0] < 1 || past.shape[1] != results || sums.shape != ir::Shape{results + 1} ||
      past.dtype != part_dtype(static_cast<std::uint32_t>(std::min<std::int64_t>(taps, 1 << 20)), dtype) ||
      sums.dtype != DType::i32) {
    reject(node, "what a moving mean keeps does not fit its input", kInconsistent);
  }
  return {std::move(mean), past, sums};
}

// Entries [first, first + count) along an axis.
evaluate::Tensor entries_of(const evaluate::Tensor& tensor, std::size_t axis, std::size_t first, std::size_t count) {
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < tensor.shape.size(); ++i) inner *= static_cast<std::size_t>(tensor.shape[i]);
  const std::size_t row = static_cast<std::size_t>(tensor.shape[axis]) * inner;
  std::vector<float> values;
  for (std::size_t at = first * inner; at < tensor.values().size(); at += row) {
    const auto part = tensor.values().subspan(at, count * inner);
    values.insert(values.end(), part.begin(), part.end());
  }
  ir::Shape shape = tensor.shape;
  shape[axis] = static_cast<std::int64_t>(count);
  return {std::move(shape), std::move(values)};
}

// The numbers that the kernels compute with, whatever they stand for.
std::vector<evaluate::Tensor> evaluate_moving(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor &past = frame.get(node.tensor("past")), &sums = frame.get(node.tensor("sums"));
  const evaluate::Tensor& input = frame.get(node.tensor("self"));
  const ir::QuantParams& quant = node.tensor("self")->type.quant.value();
  const double scale = quant.scale(), taps = static_cast<double>(taps_of_part(node));
  const auto axis = static_cast<std::size_t>(node.integer("axis"));
  const auto entries = static_cast<std::size_t>(node.integer("entries"));
  const auto parts = static_cast<std::size_t>(past.shape.at(0));
  const ir::Shape shape = infer(node).front().shape;
  std::vector<float> ring(past.values().begin(), past.values().end()), next(sums.values().begin(), sums.values().end());
  const std::size_t results = next.size() - 1;
  const auto stored = static_cast<double>(next[results]);
  std::size_t oldest = stored >= 0 && stored < static_cast<double>(parts) ? static_cast<std::size_t>(stored) : 0;
  for (std::size_t first = 0; first < static_cast<std::size_t>(input.shape[axis]); first += entries) {
    const evaluate::Tensor fresh = summed(entries_of(input, axis, first, entries), shape);
    for (std::size_t k = 0; k < results; ++k) {
      float& part = ring[oldest * results + k];
      const double newest = std::round(static_cast<double>(fresh.values()[k]) / scale) + taps * quant.zero_point();
      next[k] = static_cast<float>(static_cast<double>(next[k]) - static_cast<double>(part) + newest);
      part = static_cast<float>(newest);
    }
    oldest = oldest + 1 == parts ? 0 : oldest + 1;
  }
  const double divisor = node.boolean("is_sum") ? 1 : taps * static_cast<double>(parts);
  std::vector<float> means;
  for (std::size_t k = 0; k < results; ++k)
    means.push_back(static_cast<float>(static_cast<double>(next[k]) * scale / divisor));
  next[results] = static_cast<float>(oldest);
  return {evaluate::Tensor(shape, std::move(means)), evaluate::Tensor(past.shape, std::move(ring)),
          evaluate::Tensor(sums.shape, std::move(next))};
}

QuantRule quantize(const ir::Node& node) {
  if (node.op == kMoving) return {.output = QuantRule::Reject{"a moving mean is made of integers"}, .weights = {}};
  QuantRule rule{.output = QuantRule::Share{}, .weights = {}};
  if (is_mean(node)) rule.output = QuantRule::Observe{};
  // Sums of 16-bit activations must fit 31 bits; the smallest is computed with an int8 table.
  if (node.op != nodes::aten_amin && reduced_elements(node) <= 1 << 16) rule.precisions = precisions::w8a8_w8a16();
  return rule;
}

// Dimensions of more than one index in their order in memory: how many separate groups of them are reduced.
int reduced_groups(const ir::Node& node, const std::vector<std::size_t>& order) {
  const ir::Shape& shape = node.tensor("self")->type.shape;
  const auto& dims = node.integers("dim");
  int groups = 0;
  bool inside = false;
  for (const std::size_t dim : order) {
    if (shape[dim] == 1) continue;
    const bool reduced = std::ranges::find(dims, static_cast<std::int64_t>(dim)) != dims.end();
    if (reduced && !inside) ++groups;
    inside = reduced;
  }
  return groups;
}

void require_kernel(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const ir::TensorType& input = node.tensor("self")->type;
  if (has_words(node)) {
    require_words(rewriter, {"self"});
  } else if (!input.quant || input.quant->dtype != DType::i8 || node.result()->type.quant->dtype != DType::i8) {
    reject(node, node.op + " needs an int8 input and result", "quantize both sides of it to int8");
  }
  if (rewriter.config.runtime == Runtime::executorch) {
    reject(node,
           node.op + " has no Cortex-M operator in ExecuTorch, except for a mean over an image's height and width",
           "compile for Cormorant's own runtime");
  }
  std::vector<std::size_t> order(input.rank());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (reduced_groups(node, order) > 2) {
    reject(node, node.op + " over three dimensions that are not adjacent", "reduce them one at a time");
  }
}

// From a sum of so many elements to the result.
struct MeanFactor {
  std::int32_t left;
  MeanMultiplier multiplier;
};
MeanFactor mean_factor(const ir::Node& node, std::int64_t taps, bool is_sum) {
  if (taps > static_cast<std::int64_t>(kLargestMeanWindow)) {
    reject(node, node.op + " over more than 4 million elements", "reduce in two steps");
  }
  const double ratio = node.tensor("self")->type.quant->scale() / node.result()->type.quant->scale();
  const std::int32_t left = mean_left_shift(taps);
  const std::optional<MeanMultiplier> factor =
      mean_multiplier(ratio / (is_sum ? 1.0 : static_cast<double>(taps)), left);
  if (!factor)
    reject(node, "the scale of the result is too small for its input's", "calibrate with representative data");
  return {left, *factor};
}

// The same of 16-bit activations.
MeanFactor words_factor(const ir::Node& node, std::int64_t taps, bool is_sum) {
  const double ratio = node.tensor("self")->type.quant->scale() / node.result()->type.quant->scale();
  const Multiplier m = quantize_multiplier(ratio / (is_sum ? 1.0 : static_cast<double>(taps)));
  if (m.shift > 30)
    reject(node, "the scale of the result is too small for its input's", "calibrate with representative data");
  return {0, {m.multiplier, m.multiplier == 0 ? 1 : 31 - m.shift}};
}

ir::Value* lower_moving(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const ir::QuantParams& input = node.tensor("self")->type.quant.value();
  const ir::QuantParams& output = node.result()->type.quant.value();
  // Two numbers of 4 million at most; what is larger is refused.
  const auto bounded = [](std::int64_t n) { return std::min<std::int64_t>(n, 2 * std::int64_t{kLargestMeanWindow}); };
  const std::int64_t taps = bounded(taps_of_part(node)) * bounded(node.tensor("past")->type.shape.at(0));
  const auto [left, factor] = has_words(node) ? words_factor(node, taps, node.boolean("is_sum"))
                                              : mean_factor(node, taps, node.boolean("is_sum"));
  const MovingMean<HostWorld> call{.input = node.tensor("self"),
                                   .past = node.tensor("past"),
                                   .sums = node.tensor("sums"),
                                   .dim = node.integers("dim"),
                                   .axis = node.integer("axis"),
                                   .entries = node.integer("entries"),
                                   .input_zero_point = input.zero_point(),
                                   .left_shift = left,
                                   .multiplier = factor.multiplier,
                                   .right_shift = factor.right,
                                   .output_zero_point = output.zero_point(),
                                   .output_min = output.qmin,
                                   .output_max = output.qmax};
  std::vector<ir::TensorType> types;
  for (const ir::Value* result : node.results) types.push_back(result->type);
  return make_node(rewriter.graph, call, std::move(types), node.name, node.location, &rewriter.node,
                   moving_mean_variant(rewriter.config.target, has_words(node)))
      ->result();
}

ir::Value* lower_mean(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const ir::QuantParams& input = node.tensor("self")->type.quant.value();
  const ir::QuantParams& output = node.result()->type.quant.value();
  const auto emit = [&](std::int32_t left, const MeanMultiplier& factor, const char* name) {
    return rewriter
        .emit(Mean<HostWorld>{.input = node.tensor("self"),
                              .dim = node.integers("dim"),
                              .input_zero_point = input.zero_point(),
                              .left_shift = left,
                              .multiplier = factor.multiplier,
                              .right_shift = factor.right,
                              .output_zero_point = output.zero_point(),
                              .output_min = output.qmin,
                              .output_max = output.qmax},
              node.result()->type, name)
        ->result();
  };
  if (has_words(node)) {
    const auto [left, factor] = words_factor(node, reduced_elements(node), is_sum(node));
    return emit(left, factor, names::cormorant_mean_words);
  }
  const auto [left, factor] = mean_factor(node, reduced_elements(node), is_sum(node));
  return emit(left, factor, mean_variant(rewriter.config.target));
}

// The table operator's table for −1 − x, which reverses the order of the integers.
ir::Value* reversed(const Rewriter& rewriter, ir::Value* value) {
  std::array<std::int8_t, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::int8_t>(127 - static_cast<int>(i));
  const ir::TensorType type{.dtype = DType::i8, .shape = {256}, .dim_order = {}, .quant = {}};
  ir::Value* lut = rewriter.constant("reverse", type, std::span<const std::int8_t>(table));
  ir::TensorType result = value->type;
  result.quant->zero_points[0] = -1 - result.quant->zero_point();
  return rewriter.graph
      .add_node(rewriter.node.name + "_reverse", nodes::cortex_m_quantized_activation, {{"input", value}, {"lut", lut}},
                {result}, rewriter.node.location, &rewriter.node)
      ->result();
}

ir::Value* lower_amax(const Rewriter& rewriter, ir::Value* input, ir::TensorType result) {
  result.quant = input->type.quant;
  return rewriter
      .emit(Amax<HostWorld>{.input = input, .dim = rewriter.node.integers("dim")}, std::move(result),
            has_words(rewriter.node) ? names::cormorant_amax_words : amax_variant(rewriter.config.target))
      ->result();
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  require_kernel(rewriter);
  if (node.op == kMoving) return lower_moving(rewriter);
  if (is_mean(node)) return lower_mean(rewriter);
  ir::Value* input = node.tensor("self");
  if (input->type.quant != node.result()->type.quant) {
    reject(node, node.op + " cannot change the quantization parameters",
           "quantize the model so that its input and output share them");
  }
  if (node.op == nodes::aten_amax) return lower_amax(rewriter, input, node.result()->type);
  // The smallest is the largest in reverse.
  return reversed(rewriter, lower_amax(rewriter, reversed(rewriter, input), node.result()->type));
}

std::vector<ir::TensorType> infer_any(const ir::Node& node) {
  return node.op == kMoving ? infer_moving(node) : infer(node);
}
std::vector<evaluate::Tensor> evaluate_any(const ir::Node& node, const evaluate::Frame& frame) {
  return node.op == kMoving ? evaluate_moving(node, frame) : evaluate_reduce(node, frame);
}

// What is kept is written in its own memory: one part, and the sums.
bool in_place(const ir::Node&, std::string_view argument) { return argument == "past" || argument == "sums"; }

bool channelwise(const ir::Node& node) {
  return is_mean(node) && node.tensor("self")->type.rank() == 4 && node.result()->type.rank() == 4 &&
         std::ranges::all_of(node.integers("dim"), [](std::int64_t dim) { return dim >= 2; });
}

}  // namespace

Operator reduce_operator() {
  return {
      .name = "reduce",
      .canonical =
          {"aten.mean(Tensor self, int[] dim)", "aten.sum(Tensor self, int[] dim)", "aten.amax(Tensor self, int[] dim)",
           "aten.amin(Tensor self, int[] dim)",
           "aten.moving_mean(Tensor self, Tensor past, Tensor sums, int[] dim, int axis, int entries, bool is_sum)"},
      .infer = infer_any,
      .evaluate = evaluate_any,
      .quantize = quantize,
      .lower = lower,
      .in_place = in_place,
      .channelwise = channelwise};
}

}  // namespace cormorant::ops
