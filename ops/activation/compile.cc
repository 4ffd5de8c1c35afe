// SPDX-License-Identifier: Apache-2.0
//
// aten.sigmoid(self), aten.elu(self, alpha, scale, input_scale) and some fifty more: every function of one element is a
// node of its own name. cormorant.requantize(self) is the identity between two sets of quantization parameters; passes
// put it where an operator needs its input in the parameters of its result.
//
// All results get a range of their own. Sigmoid's and tanh's could be fixed to what the function can reach, but what
// a model does reach is often less: gates around one half gain 3 dB by it, a tanh near its origin 9 dB.
#include <algorithm>
#include <array>

#include "base/diagnostic.h"
#include "ops/activation/activation.h"
#include "ops/activation/functions.h"
#include "ops/activation/table.h"
#include "ops/host/multiplier.h"
#include "ops/host/words.h"
#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

std::vector<ir::TensorType> infer(const ir::Node& node) {
  // Only the identity keeps what its result was quantized to.
  if (node.op == nodes::cormorant_requantize) {
    ir::TensorType type = node.result()->type;
    type.shape = node.tensor("self")->type.shape;
    return {type};
  }
  return {node.tensor("self")->type};
}

std::vector<evaluate::Tensor> evaluate_activation(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor& input = frame.get(node.tensor("self"));
  const std::function<double(double)> function = function_of(node);
  std::vector<float> out(input.values().begin(), input.values().end());
  for (float& value : out) value = static_cast<float>(function(static_cast<double>(value)));
  return {evaluate::Tensor(input.shape, std::move(out))};
}

// Functions that jump, or have a pole, cannot be interpolated between any two positions.
bool is_steady(std::string_view op) {
  constexpr std::array kSteady = {"aten.abs",
                                  "aten.asinh",
                                  "aten.atan",
                                  "aten.celu",
                                  "aten.cos",
                                  "aten.elu",
                                  "aten.erf",
                                  "aten.erfc",
                                  "aten.exp",
                                  "aten.exp2",
                                  "aten.expm1",
                                  "aten.gelu",
                                  nodes::aten_hardsigmoid,
                                  "aten.mish",
                                  nodes::aten_sigmoid,
                                  nodes::aten_leaky_relu,
                                  "aten.selu",
                                  nodes::aten_hardswish,
                                  "aten.neg",
                                  "aten.silu",
                                  "aten.softplus",
                                  "aten.log_sigmoid",
                                  "aten.softshrink",
                                  "aten.square",
                                  "aten.sin",
                                  nodes::aten_tanh};
  return std::ranges::find(kSteady, op) != kSteady.end();
}

QuantRule quantize(const ir::Node& node) {
  QuantRule rule{.output = QuantRule::Observe{}, .weights = {}};
  if (is_steady(node.op)) rule.precisions = precisions::w8a8_w8a16();
  return rule;
}

bool has_words(const ir::TensorType& type) {
  return type.quant && type.quant->dtype == DType::i16 && !type.quant->per_channel();
}

// From int8 to int16, back, or between two scales.
ir::Value* lower_requantize(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const ir::QuantParams& input = *node.tensor("self")->type.quant;
  const ir::QuantParams& output = *node.result()->type.quant;
  const Multiplier m = quantize_multiplier(input.scale() / output.scale());
  const std::int32_t shift = m.multiplier == 0 ? 1 : std::clamp(31 - m.shift, 1, 62);
  return rewriter
      .emit(WordsRequantize<HostWorld>{.input = node.tensor("self"),
                                       .input_zero_point = input.zero_point(),
                                       .factor = m.multiplier,
                                       .shift = shift,
                                       .output_zero_point = output.zero_point(),
                                       .output_min = output.qmin,
                                       .output_max = output.qmax},
            node.result()->type, names::cormorant_requantize_words)
      ->result();
}

const char* words_variant(const Target& target) {
  const bool has_vectors = !target.is_any() && target.isa == Isa::mve;
  return has_vectors ? names::cormorant_activation_mve_words : names::cormorant_activation_words;
}

ir::Value* lower_words(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  require_words(rewriter, {"self"});
  const auto table = make_words_table(function_of(node), *node.tensor("self")->type.quant, *node.result()->type.quant);
  if (!table) {
    throw InputError({.problem = node.op + " is undefined for every possible input value",
                      .advice = "calibrate with data for which the model's results are finite",
                      .node = node.name,
                      .source = node.location.text()});
  }
  const ir::TensorType type{
      .dtype = DType::i32, .shape = {static_cast<std::int64_t>(table->size())}, .dim_order = {}, .quant = {}};
  ir::Value* constant = rewriter.constant("table", type, std::span<const std::int32_t>(*table));
  return rewriter
      .emit(WordsActivation<HostWorld>{.input = node.tensor("self"), .table = constant}, node.result()->type,
            words_variant(rewriter.config.target))
      ->result();
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const auto reject = [&](std::string problem, std::string advice) {
    throw InputError({.problem = std::move(problem),
                      .advice = std::move(advice),
                      .node = node.name,
                      .source = node.location.text()});
  };
  const auto is_int8 = [](const ir::TensorType& type) {
    return type.quant && type.quant->dtype == DType::i8 && !type.quant->per_channel();
  };
  const ir::TensorType& input = node.tensor("self")->type;
  const ir::TensorType& output = node.result()->type;
  const bool both = (has_words(input) || is_int8(input)) && (has_words(output) || is_int8(output));
  if (node.op == nodes::cormorant_requantize && both && (has_words(input) || has_words(output))) {
    return lower_requantize(rewriter);
  }
  if (has_words(output)) return lower_words(rewriter);
  if (!is_int8(input) || !is_int8(output)) {
    reject(node.op + " needs an input and a result that are int8 with one scale each",
           "quantize both sides of it per tensor to int8");
  }
  std::optional<Table> table;
  if (node.has("as_product")) table = make_hardswish_product_table(*input.quant, *output.quant);
  if (!table) table = make_table(function_of(node), *input.quant, *output.quant);
  if (!table) {
    reject(node.op + " is undefined for every possible input value",
           "calibrate with data for which the model's results are finite");
  }
  const ir::TensorType type{.dtype = DType::i8, .shape = {kTableEntries}, .dim_order = {}, .quant = {}};
  ir::Value* lut = rewriter.constant("lut", type, std::span<const std::int8_t>(*table));
  return rewriter
      .emit(QuantizedActivation<HostWorld>{.input = node.tensor("self"), .lut = lut}, output,
            names::cortex_m_quantized_activation_out)
      ->result();
}

bool in_place(const ir::Node& node, std::string_view argument) {
  return (argument == "input" || argument == "self") && node.op != graph_name(names::cormorant_requantize_words);
}

std::vector<std::string> canonical_names() {
  std::vector<std::string> nodes = {
      "aten.pow(Tensor self, float exponent)", "aten.pow_of_base(Tensor self, float base)",
      "aten.round_decimals(Tensor self, int decimals)", "cormorant.requantize(Tensor self)"};
  for (const Function& function : unary_functions()) {
    nodes.push_back("aten." + std::string(function.name) + "(Tensor self");
    // The parameters are those of PyTorch's schema, without defaults: import fills them in.
    for (const SchemaArgument& argument : parse_schema("f(" + std::string(function.arguments) + ")").arguments) {
      nodes.back() += ", " + argument.type + " " + argument.name;
    }
    // What ExecuTorch quantized keeps its bits (passes/keep_hardswish.cc).
    nodes.back() += function.name == "hardswish" ? ", bool as_product=False)" : ")";
  }
  return nodes;
}

}  // namespace

Operator activation_operator() {
  return {.name = "activation",
          .elementwise = true,
          .canonical = canonical_names(),
          .infer = infer,
          .evaluate = evaluate_activation,
          .quantize = quantize,
          .lower = lower,
          .in_place = in_place};
}

}  // namespace cormorant::ops
