// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <limits>

#include "base/diagnostic.h"
#include "kernels/window.h"
#include "ops/multiplier.h"
#include "ops/op.h"
#include "ops/reduce/import.h"
#include "ops/reduce/reduce.h"
#include "ops/words.h"

namespace cormorant::ops {
namespace {

[[noreturn]] void reject(const ir::Node& node, std::string problem, std::string advice) {
  throw InputError(
      {.problem = std::move(problem), .advice = std::move(advice), .node = node.name, .source = node.location.text()});
}

bool is_sum(const ir::Node& node) { return node.op == "aten.sum"; }
bool is_mean(const ir::Node& node) { return node.op == "aten.mean" || is_sum(node); }

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

std::vector<evaluate::Tensor> evaluate_reduce(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor& input = frame.get(node.tensor("self"));
  const ir::Shape shape = infer(node).front().shape;
  const bool adds = is_mean(node);
  const bool largest = node.op == "aten.amax";
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // The output's strides, 0 along what is reduced.
  std::vector<std::size_t> strides(shape.size(), 0);
  std::size_t elements = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == input.shape[i]) strides[i] = elements;
    elements *= static_cast<std::size_t>(shape[i]);
  }
  std::vector<double> out(elements, adds ? 0.0 : (largest ? -kInfinity : kInfinity));
  std::vector<std::int64_t> at(shape.size(), 0);
  std::size_t index = 0;
  for (const float value : input.values()) {
    double& result = out[index];
    const auto x = static_cast<double>(value);
    result = adds ? result + x : (largest ? std::max(result, x) : std::min(result, x));
    for (std::size_t i = at.size(); i-- > 0;) {
      index += strides[i];
      if (++at[i] < input.shape[i]) break;
      index -= strides[i] * static_cast<std::size_t>(input.shape[i]);
      at[i] = 0;
    }
  }
  if (node.op == "aten.mean") {
    for (double& sum : out) sum /= static_cast<double>(reduced_elements(node));
  }
  return {evaluate::Tensor(shape, std::vector<float>(out.begin(), out.end()))};
}

QuantRule quantize(const ir::Node& node) {
  QuantRule rule{.output = QuantRule::Share{}, .weights = {}};
  if (is_mean(node)) rule.output = QuantRule::Observe{};
  // Sums of 16-bit activations must fit 31 bits; the smallest is made by a table of int8.
  if (node.op != "aten.amin" && reduced_elements(node) <= 1 << 16) rule.precisions = precisions::w8a8_w8a16();
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
           "compile for our own runtime");
  }
  std::vector<std::size_t> order(input.rank());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (reduced_groups(node, order) > 2) {
    reject(node, node.op + " over three dimensions that are not adjacent", "reduce them one at a time");
  }
}

ir::Value* lower_mean(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const ir::QuantParams& input = node.tensor("self")->type.quant.value();
  const ir::QuantParams& output = node.result()->type.quant.value();
  const std::int64_t taps = reduced_elements(node);
  if (taps > static_cast<std::int64_t>(kLargestMeanWindow)) {
    reject(node, node.op + " over more than 4 million elements", "reduce in two steps");
  }
  const double divisor = is_sum(node) ? 1.0 : static_cast<double>(taps);
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
    const Multiplier m = quantize_multiplier(input.scale() / output.scale() / divisor);
    if (m.shift > 30)
      reject(node, "the scale of the result is too small for its input's", "calibrate with representative data");
    return emit(0, {m.multiplier, m.multiplier == 0 ? 1 : 31 - m.shift}, names::cormorant_mean_words);
  }
  const std::int32_t left = mean_left_shift(taps);
  const std::optional<MeanMultiplier> factor = mean_multiplier(input.scale() / output.scale() / divisor, left);
  if (!factor)
    reject(node, "the scale of the result is too small for its input's", "calibrate with representative data");
  return emit(left, *factor, mean_variant(rewriter.config.target));
}

// The table operator's table for −1 − x, which turns the order of the integers round.
ir::Value* reversed(const Rewriter& rewriter, ir::Value* value) {
  std::array<std::int8_t, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::int8_t>(127 - static_cast<int>(i));
  const ir::TensorType type{.dtype = DType::i8, .shape = {256}, .dim_order = {}, .quant = {}};
  ir::Value* lut = rewriter.constant("reverse", type, std::span<const std::int8_t>(table));
  ir::TensorType result = value->type;
  result.quant->zero_points[0] = -1 - result.quant->zero_point();
  return rewriter.graph
      .add_node(rewriter.node.name + "_reverse", "cortex_m.quantized_activation", {{"input", value}, {"lut", lut}},
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
  if (is_mean(node)) return lower_mean(rewriter);
  ir::Value* input = node.tensor("self");
  if (input->type.quant != node.result()->type.quant) {
    reject(node, node.op + " cannot change the quantization parameters",
           "quantize the model so that its input and output share them");
  }
  if (node.op == "aten.amax") return lower_amax(rewriter, input, node.result()->type);
  // The smallest is the largest in reverse.
  return reversed(rewriter, lower_amax(rewriter, reversed(rewriter, input), node.result()->type));
}

bool channelwise(const ir::Node& node) {
  return is_mean(node) && node.tensor("self")->type.rank() == 4 && node.result()->type.rank() == 4 &&
         std::ranges::all_of(node.integers("dim"), [](std::int64_t dim) { return dim >= 2; });
}

}  // namespace

Operator reduce_operator() {
  return {.name = "reduce",
          .forms = reduce_forms(),
          .canonical = {"aten.mean(Tensor self, int[] dim)", "aten.sum(Tensor self, int[] dim)",
                        "aten.amax(Tensor self, int[] dim)", "aten.amin(Tensor self, int[] dim)"},
          .infer = infer,
          .evaluate = evaluate_reduce,
          .quantize = quantize,
          .lower = lower,
          .channelwise = channelwise};
}

}  // namespace cormorant::ops
