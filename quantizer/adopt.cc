// SPDX-License-Identifier: Apache-2.0
#include "quantizer/adopt.h"

#include <algorithm>
#include <cmath>

#include "ops/nodes.h"
#include "quantizer/masks.h"
#include "quantizer/weights.h"

namespace cormorant::quantizer {
namespace {

using Rule = ops::QuantRule;

constexpr const char* kQuantize = ops::nodes::quantized_decomposed_quantize_per_tensor;

bool is_conversion(const ir::Node& node) { return ops::nodes::is_conversion(node.op); }
bool is_real(const ir::Value* value) { return value->type.dtype == DType::f32; }

// Real numbers in, integers out: an index, or the truth about a comparison.
bool is_answer(const ir::Node& node) { return std::ranges::none_of(node.results, is_real); }

// The integers that a float tensor was dequantized from; null if it comes from elsewhere.
ir::Value* integers_of(ir::Value* value) {
  if (value->type.is_quantized()) return value;
  const ir::Node* producer = value->producer;
  return producer != nullptr && ops::nodes::is_dequantization(producer->op) ? producer->tensor("input") : nullptr;
}

class Adoption {
 public:
  explicit Adoption(ir::Graph& graph) : graph_(graph) {}

  AdoptReport run(bool int8_io) {
    std::vector<ir::Node*> operators = graph_.snapshot();
    std::erase_if(operators, [](const ir::Node* node) {
      return is_conversion(*node) || (is_answer(*node) && std::ranges::none_of(node->inputs(), is_real));
    });
    show_constants();
    if (int8_io) adopt_inputs();
    for (ir::Node* node : operators) {
      std::string reason = is_answer(*node) ? adopt_answer(*node) : adopt(*node);
      report_.decisions.push_back(decision_about(*node, reason));
      if (reason.empty()) continue;
      report_.float_nodes.push_back({node->name, node->op, node->location.text(), reason});
      hide_constants(*node);
    }
    if (int8_io) {
      for (ir::Value*& output : graph_.outputs()) {
        if (ir::Value* integers = integers_of(output)) output = integers;
      }
    }
    graph_.erase_unused();
    return std::move(report_);
  }

 private:
  // Operators' rules ask which operands are constant, so quantized ones replace their conversions.
  void show_constants() {
    for (ir::Node* node : graph_.snapshot()) {
      if (!ops::nodes::is_dequantization(node->op)) continue;
      ir::Value* input = node->tensor("input");
      if (input->kind != ir::ValueKind::constant || graph_.is_kept(node->result())) continue;
      graph_.replace_uses(node->result(), input);
      graph_.erase(node);
    }
  }

  // Nodes that stay in float read floats.
  void hide_constants(ir::Node& node) {
    for (ir::Value* input : node.inputs()) {
      if (input->kind != ir::ValueKind::constant || !input->type.is_quantized()) continue;
      const evaluate::Tensor real = evaluate::constant_tensor(*input);
      node.replace_use(
          input, graph_.add_constant(input->name + "_real", ir::float_type(real.shape), ir::Bytes::of(real.values())));
    }
  }

  // An input that is only ever read as the same integers becomes those integers.
  void adopt_inputs() {
    for (ir::Value* input : graph_.inputs()) {
      if (const auto params = only_parameters(input)) {
        input->type = ir::quantized_type(input->type.shape, *params, input->type.dim_order);
        drop_quantizations(input);
      }
    }
  }

  // The parameters to which all readers quantize a float tensor; none if some read it in float, or they differ.
  std::optional<ir::QuantParams> only_parameters(const ir::Value* value) {
    if (!is_real(value) || graph_.is_kept(value)) return std::nullopt;
    std::optional<ir::QuantParams> params;
    for (const ir::Node* user : graph_.users(value)) {
      if (user->op != kQuantize) return std::nullopt;
      if (params && *params != user->result()->type.quant) return std::nullopt;
      params = user->result()->type.quant;
    }
    return params;
  }

  void drop_quantizations(ir::Value* value) {
    for (ir::Node* user : graph_.users(value)) {
      if (user->op != kQuantize) continue;  // an answer
      graph_.replace_uses(user->result(), value);
      graph_.erase(user);
    }
  }

  // Makes the node a quantized one, or says why that is impossible.
  std::string adopt(ir::Node& node) {
    const ops::Operator* op = ops::find(node);
    if (op == nullptr || op->quantize == nullptr) return "operator " + node.op + " has no integer form";
    Rule rule = op->quantize(node);
    if (const auto* reject = std::get_if<Rule::Reject>(&rule.output)) return reject->reason;
    std::vector<std::optional<ir::QuantParams>> params;
    for (const ir::Value* result : node.results) {
      if (is_real(result)) params.push_back(only_parameters(result));
    }
    if (params.size() == 1 && !params[0]) params[0] = parameters_passed_on(node, rule);
    if (params.empty() || !std::ranges::all_of(params, [](const auto& p) { return p.has_value(); })) {
      return "the model does not quantize its result";
    }
    if (std::string reason = check_operands(node, rule); !reason.empty()) return reason;
    if (std::string reason = check_width(node, rule, *params[0]); !reason.empty()) return reason;
    if (params[0]->dtype == DType::i16 && rule.fixed_words) rule.output = *rule.fixed_words;

    // A score that must not count gets the result's lowest level, whatever it is.
    if (const std::string mask = mask_argument(node); !mask.empty()) {
      constexpr double kBeyondAll = 512;  // levels
      node.set(mask, with_masked(graph_, *node.tensor(mask), static_cast<float>(-kBeyondAll * params[0]->scale())));
    }
    take_operands(node, rule, params[0]->dtype == DType::i16);
    std::size_t k = 0;
    for (ir::Value* result : node.results) {
      if (!is_real(result)) continue;
      result->type = ir::quantized_type(result->type.shape, *params[k++], result->type.dim_order);
      drop_quantizations(result);
    }
    share(node, rule);
    return {};
  }

  // Integers ascend with the numbers they represent: which is the largest, and which are larger than another number, is
  // the same for both.
  std::string adopt_answer(ir::Node& node) {
    hide_constants(node);  // comparisons have integer thresholds for any real number
    const std::vector<ir::Value*> inputs = node.inputs();
    const auto asked = std::ranges::find_if(
        inputs, [](const ir::Value* input) { return is_real(input) && input->kind != ir::ValueKind::constant; });
    const auto about = std::ranges::find_if(inputs, [](const ir::Value* input) { return input->type.is_quantized(); });
    if (about != inputs.end()) return {};  // a view's, which was adopted for this node
    if (asked == inputs.end()) return "it has no quantized operand";
    ir::Value* integers = integers_of(*asked);
    if (integers == nullptr || !integers->type.quant) return "the model does not quantize its operand";
    if (std::string reason = obstacle_to_answer(node, *integers->type.quant); !reason.empty()) return reason;
    node.replace_use(*asked, integers);
    return {};
  }

  // Why a node cannot answer from integers with these parameters.
  static std::string obstacle_to_answer(const ir::Node& node, const ir::QuantParams& params) {
    const ops::Operator* op = ops::find(node);
    if (op == nullptr || op->quantize == nullptr) return "operator " + node.op + " has no integer form";
    const Rule rule = op->quantize(node);
    if (const auto* reject = std::get_if<Rule::Reject>(&rule.output)) return reject->reason;
    if (params.per_channel() || (params.dtype != DType::i8 && params.dtype != DType::i16)) {
      return "its operand is neither int8 nor int16 with a single scale";
    }
    const auto precision = params.dtype == DType::i16 ? ops::Precision::w8a16 : ops::Precision::w8a8;
    if (std::ranges::find(rule.precisions, precision) == rule.precisions.end()) {
      return "operator " + node.op + " has no form with such integers";
    }
    return {};
  }

  // A view that only such nodes read has its operand's integers, although the model does not say so.
  std::optional<ir::QuantParams> parameters_passed_on(const ir::Node& node, const Rule& rule) {
    if (!std::holds_alternative<Rule::Share>(rule.output) || graph_.is_kept(node.result())) return std::nullopt;
    const std::vector<ir::Value*> inputs = node.inputs();
    const ir::Value* integers = inputs.size() == 1 ? integers_of(inputs[0]) : nullptr;
    if (integers == nullptr || !integers->type.quant) return std::nullopt;
    const auto takes_them = [&](const ir::Node* user) {
      return is_answer(*user) && obstacle_to_answer(*user, *integers->type.quant).empty();
    };
    const std::vector<ir::Node*> users = graph_.users(node.result());
    if (users.empty() || !std::ranges::all_of(users, takes_them)) return std::nullopt;
    return integers->type.quant;
  }

  // With 16 bits an operator needs all its activations in 16 bits, and symmetric.
  static std::string check_width(const ir::Node& node, const Rule& rule, const ir::QuantParams& result) {
    const bool is_wide = result.dtype == DType::i16;
    const auto precision = is_wide ? ops::Precision::w8a16 : ops::Precision::w8a8;
    if (std::ranges::find(rule.precisions, precision) == rule.precisions.end()) {
      return "operator " + node.op + " has no form with " + (is_wide ? "16" : "8") + "-bit activations";
    }
    if (rule.words) return {};
    if (is_wide && result.zero_point() != 0) return "its 16-bit result has a zero point";
    for (const ir::NamedArgument& argument : node.args) {
      if (weight_named(rule, argument.name) != nullptr) continue;
      for (ir::Value* value : tensors(argument)) {
        const ir::Value* integers = integers_of(value);
        if (integers == nullptr || integers->kind == ir::ValueKind::constant || !integers->type.quant) continue;
        if (integers->type.quant->dtype != result.dtype && !std::holds_alternative<Rule::Share>(rule.output)) {
          return "the model gives it both 8-bit and 16-bit operands";
        }
        if (is_wide && integers->type.quant->zero_point() != 0) return "a 16-bit operand of it has a zero point";
      }
    }
    return {};
  }

  // After adopt(): the types show the decision.
  static Decision decision_about(const ir::Node& node, const std::string& reason) {
    Decision decision{node.name, node.op, node.location.text()};
    decision.rule = reason.empty() ? "the model's parameters" : "float";
    decision.reason = reason;
    if (!reason.empty()) return decision;
    std::vector<ir::Value*> values = node.results;  // an answer's parameters are its operand's
    if (is_answer(node) && node.results.size() == 1 && !node.result()->type.quant) values = node.inputs();
    for (const ir::Value* result : values) {
      if (!result->type.quant || result->kind == ir::ValueKind::constant) continue;
      decision.scale = result->type.quant->scale();
      decision.zero_point = result->type.quant->zero_point();
      decision.precision = ops::name_of(precision_of(node, *result));
    }
    const ir::Value* const weight = weight_of(node);
    if (weight == nullptr || !weight->type.quant) return decision;
    const ir::QuantParams& weights = *weight->type.quant;
    decision.weights = describe_scales(weights.per_channel(), weights.scales, weights.qmax);
    return decision;
  }

  static const Rule::Weight* weight_named(const Rule& rule, std::string_view argument) {
    const auto found =
        std::ranges::find_if(rule.weights, [&](const Rule::Weight& weight) { return weight.argument == argument; });
    return found == rule.weights.end() ? nullptr : &*found;
  }

  // A multiplier per output channel is all that kernels have.
  static bool has_channels_along(const ir::Value* integers, std::optional<std::int32_t> axis) {
    if (integers == nullptr || !integers->type.quant || !integers->type.quant->per_channel()) return true;
    return !axis || integers->type.quant->axis == *axis;
  }

  static bool has_products(const ir::Node& node) {
    const ops::Operator* op = ops::find(node);
    return op != nullptr && op->macs != nullptr;
  }

  static std::string check_operands(const ir::Node& node, const Rule& rule) {
    bool any = false;
    for (const ir::NamedArgument& argument : node.args) {
      const Rule::Weight* weight = weight_named(rule, argument.name);
      for (ir::Value* value : tensors(argument)) {
        if (!is_real(value) && !value->type.is_quantized()) continue;
        const bool constant = value->kind == ir::ValueKind::constant;
        // A bias, a PReLU's slopes, or a number in the model's code may be in float: the integers follow from the rest.
        const bool follows = weight == nullptr || weight->is_bias || !weight->axis || !has_products(node);
        if (integers_of(value) == nullptr && !(constant && follows)) {
          return "the model does not quantize its " + argument.name;
        }
        if (weight != nullptr && !weight->is_bias && !has_channels_along(integers_of(value), weight->axis)) {
          return "the model quantizes its " + argument.name + " along a different dimension than its results";
        }
        any = any || weight == nullptr;
      }
    }
    return any ? std::string() : "it has no quantized operand";
  }

  static std::vector<ir::Value*> tensors(const ir::NamedArgument& argument) {
    if (auto* const* single = std::get_if<ir::Value*>(&argument.value)) {
      return *single == nullptr ? std::vector<ir::Value*>{} : std::vector<ir::Value*>{*single};
    }
    const auto* list = std::get_if<std::vector<ir::Value*>>(&argument.value);
    return list == nullptr ? std::vector<ir::Value*>{} : *list;
  }

  void take_operands(ir::Node& node, const Rule& rule, bool is_wide) {
    double input_scale = 0;
    for (const ir::NamedArgument& argument : node.args) {
      const Rule::Weight* weight = weight_named(rule, argument.name);
      for (ir::Value* value : tensors(argument)) {
        if ((!is_real(value) && !value->type.is_quantized()) || (weight != nullptr && weight->is_bias)) continue;
        ir::Value* integers = integers_of(value);
        if (integers == nullptr) integers = weight == nullptr && is_wide ? words(value) : bytes(value, weight);
        node.replace_use(argument.name, value, integers);
        if (weight == nullptr && input_scale == 0) input_scale = integers->type.quant->scale();
      }
    }
    const Rule::Weight* before = nullptr;
    for (const Rule::Weight& weight : rule.weights) {
      if (!weight.is_bias) before = &weight;
      if (!weight.is_bias || before == nullptr || !node.has(weight.argument)) continue;
      const double factor = weight.times_result ? only_parameters(node.results.at(0))->scale() : input_scale;
      take_bias(node, weight.argument, *before, factor);
    }
  }

  // A bias is added to products, so its unit is theirs, whatever unit the model gives it. Where the model's weights are
  // so small that the bias would not fit 32 bits of it (a channel that training has let wither), theirs becomes
  // coarser.
  void take_bias(ir::Node& node, const std::string& argument, const Rule::Weight& weight, double factor) {
    const ir::Value* value = node.tensor(argument);
    const evaluate::Tensor bias = evaluate::constant_tensor(*value);
    ir::Value* weights = node.tensor(weight.argument);
    if (auto coarser = with_room_for(bias, *weights, weight.axis, factor)) {
      weights = graph_.add_constant(weights->name + "_coarser", std::move(coarser->type), std::move(coarser->data));
      node.set(weight.argument, weights);
    }
    const ir::QuantParams& scales = *weights->type.quant;
    node.set(argument, constant(value, integer_bias(bias, {scales.axis, scales.scales}, factor)));
  }

  // Constants that the model left in float: slopes, and numbers in as many bits as the activations that they meet.
  ir::Value* bytes(const ir::Value* value, const Rule::Weight* weight) {
    const evaluate::Tensor tensor = evaluate::constant_tensor(*value);
    const auto axis = weight == nullptr ? std::nullopt : weight->axis;
    return constant(value, integer_weight(tensor, weight_scales(tensor, axis, nullptr, 1.0)));
  }
  ir::Value* words(const ir::Value* value) {
    constexpr std::int32_t kLargest = 32767;
    const evaluate::Tensor tensor = evaluate::constant_tensor(*value);
    double largest = 0;
    for (const float element : tensor.values()) largest = std::max(largest, std::abs(static_cast<double>(element)));
    const double scale = largest > 0 ? largest / kLargest : 1.0 / kLargest;
    return constant(value, integer_activation(tensor, {DType::i16, -kLargest - 1, kLargest, {}, {scale}, {0}}));
  }
  ir::Value* constant(const ir::Value* value, IntegerConstant made) {
    return graph_.add_constant(value->name + "_int", std::move(made.type), std::move(made.data));
  }

  // Operators that only pass values on have one set of parameters; if the model gives them two, a conversion precedes
  // them. If an operator's result has parameters of its own by definition, one follows it.
  void share(ir::Node& node, const Rule& rule) {
    if (std::holds_alternative<Rule::Share>(rule.output)) {
      for (ir::Value* input : node.inputs()) {
        if (!input->type.quant || input->type.quant == node.result()->type.quant) continue;
        ir::TensorType type = input->type;
        type.quant = node.result()->type.quant;
        node.replace_use(input, requantize(input, std::move(type), &node));
      }
    }
    const auto* fixed = std::get_if<Rule::Fixed>(&rule.output);
    if (fixed == nullptr) return;
    ir::QuantParams params = *node.result()->type.quant;
    params.scales = {fixed->scale};
    params.zero_points = {fixed->zero_point};
    if (params == node.result()->type.quant) return;
    ir::TensorType wanted = node.result()->type;
    node.result()->type.quant = params;
    const auto next = std::next(std::ranges::find_if(graph_.nodes(), [&](const ir::Node& n) { return &n == &node; }));
    ir::Value* converted =
        requantize(node.result(), std::move(wanted), next == graph_.nodes().end() ? nullptr : &*next);
    graph_.replace_uses(node.result(), converted);
    converted->producer->set("self", node.result());
  }

  ir::Value* requantize(ir::Value* value, ir::TensorType type, ir::Node* before) {
    const ir::Location location = value->producer != nullptr ? value->producer->location : ir::Location();
    return graph_
        .add_node(value->name + "_requantize", ops::nodes::cormorant_requantize, {{"self", value}}, {std::move(type)},
                  location, before)
        ->result();
  }

  ir::Graph& graph_;
  AdoptReport report_;
};

}  // namespace

bool is_quantized_model(const ir::Graph& graph) {
  const auto reads_integers = [](const ir::Node& node) {
    if (ops::nodes::is_dequantization(node.op)) return node.inputs().at(0)->kind != ir::ValueKind::constant;
    return is_conversion(node) ||
           std::ranges::any_of(node.inputs(), [](const ir::Value* value) { return value->type.is_quantized(); });
  };
  const auto is_changing = [](const ir::Value& value) {
    return value.kind != ir::ValueKind::constant && value.type.is_quantized();
  };
  return std::ranges::any_of(graph.nodes(), reads_integers) || std::ranges::any_of(graph.values(), is_changing);
}

std::size_t real_weights(ir::Graph& graph) {
  if (is_quantized_model(graph)) return 0;
  std::size_t count = 0;
  for (ir::Node* node : graph.snapshot()) {
    if (!ops::nodes::is_dequantization(node->op)) continue;
    const ir::Value* integers = node->tensor("input");
    const evaluate::Tensor real = evaluate::constant_tensor(*integers);
    graph.replace_uses(node->result(), graph.add_constant(integers->name + "_real", ir::float_type(real.shape),
                                                          ir::Bytes::of(real.values())));
    graph.erase(node);
    ++count;
  }
  graph.erase_unused();
  return count;
}

AdoptReport adopt(ir::Graph& graph, bool int8_io) { return Adoption(graph).run(int8_io); }

}  // namespace cormorant::quantizer
