// SPDX-License-Identifier: Apache-2.0
#include "quantizer/convert.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ops/nodes.h"
#include "quantizer/weights.h"

namespace cormorant::quantizer {
namespace {

constexpr const char* kQuantize = ops::nodes::quantized_decomposed_quantize_per_tensor;
constexpr const char* kDequantize = ops::nodes::quantized_decomposed_dequantize_per_tensor;

using Rule = ops::QuantRule;

std::vector<ir::NamedArgument> conversion_arguments(ir::Value* value, const ir::QuantParams& params) {
  return {{"input", value},
          {"scale", params.scale()},
          {"zero_point", std::int64_t{params.zero_point()}},
          {"quant_min", std::int64_t{params.qmin}},
          {"quant_max", std::int64_t{params.qmax}},
          {"dtype", params.dtype}};
}

class Converter {
 public:
  Converter(ir::Graph& graph, const Annotation& annotation, const std::vector<ir::QuantParams>& params)
      : graph_(graph), annotation_(annotation), params_(params) {}

  // Walking in execution order puts each conversion before the first node that needs it, so it also precedes the rest.
  void run(bool int8_io) {
    if (int8_io) {
      for (ir::Value* input : graph_.inputs()) retype(input);
    }
    for (ir::Value& value : graph_.values()) {
      if (value.kind == ir::ValueKind::state) hold_integers(value);
    }
    for (ir::Node* node : graph_.snapshot()) {
      before_ = node;
      location_ = node->location;
      if (const auto found = annotation_.quantized.find(node); found != annotation_.quantized.end()) {
        quantize_node(*node, found->second);
      } else {
        for (ir::Value* operand : node->inputs()) node->replace_use(operand, as_float(operand));
      }
    }
    before_ = nullptr;
    for (ir::Value*& output : graph_.outputs()) {
      location_ = output->producer == nullptr ? ir::Location() : output->producer->location;
      const auto group = annotation_.group_of.find(output);
      if (!int8_io) {
        output = as_float(output);
      } else if (group != annotation_.group_of.end() && output->kind != ir::ValueKind::constant) {
        output = as_integers(output, group->second);
      }
    }
    for (ir::Update& update : graph_.updates()) {
      update.value = update.state->type.quant ? as_integers(update.value, annotation_.group_of.at(update.state))
                                              : as_float(update.value);
    }
    graph_.erase_unused();
  }

 private:
  void hold_integers(ir::Value& state) {
    const auto group = annotation_.group_of.find(&state);
    if (group == annotation_.group_of.end() || annotation_.float_states.contains(&state)) return;
    IntegerConstant initial = integer_activation(evaluate::constant_tensor(state), params_[group->second]);
    state.type = std::move(initial.type);
    state.data = std::move(initial.data);
  }

  void quantize_node(ir::Node& node, const QuantizedNode& how) {
    const auto& [rule, operands, precision, instead] = how;
    convert_weights(node, rule, annotation_.factors_of(node, params_), precision);
    // On copies: the node's arguments change on the way.
    for (const ir::NamedArgument& argument : std::vector<ir::NamedArgument>(node.args)) {
      // The same constant may stand for a weight in another argument.
      const auto names_it = [&](const Rule::Weight& weight) { return weight.argument == argument.name; };
      if (std::ranges::any_of(rule.weights, names_it)) continue;
      for (ir::Value* operand : tensors_of(argument)) {
        if (std::ranges::find(operands, operand) == operands.end()) continue;
        node.replace_use(argument.name, operand,
                         as_integers(operand, annotation_.group_for(node, argument.name, operand)));
      }
    }
    for (ir::Value* result : node.results) retype(result);
  }

  static std::vector<ir::Value*> tensors_of(const ir::NamedArgument& argument) {
    if (const auto* single = std::get_if<ir::Value*>(&argument.value)) return {*single};
    const auto* list = std::get_if<std::vector<ir::Value*>>(&argument.value);
    return list == nullptr ? std::vector<ir::Value*>{} : *list;
  }

  void convert_weights(ir::Node& node, const Rule& rule, const FactorScales& factors, ops::Precision precision) {
    if (rule.weights.empty()) return;
    const std::vector<WeightScales> scales = weight_scales(node, rule, factors, precision);
    for (std::size_t k = 0; k < rule.weights.size(); ++k) {
      const Rule::Weight& weight = rule.weights[k];
      if (!node.has(weight.argument)) continue;
      const ir::Value* value = node.tensor(weight.argument);
      const evaluate::Tensor tensor = evaluate::constant_tensor(*value);
      node.set(weight.argument, constant(value, weight.is_bias ? integer_bias(tensor, scales[k], factors.of(weight))
                                                               : integer_weight(tensor, scales[k])));
    }
  }

  // Users of one float constant that need the same integers get the same constant.
  ir::Value* constant(const ir::Value* from, IntegerConstant made) {
    for (ir::Value* known : constants_[from]) {
      if (known->type == made.type) return known;
    }
    ir::Value* value = graph_.add_constant(from->name + "_int", std::move(made.type), std::move(made.data));
    constants_[from].push_back(value);
    return value;
  }

  ir::Value* as_integers(ir::Value* value, std::size_t group) {
    const ir::QuantParams& params = params_[group];
    if (value->type.quant == params) return value;
    if (value->kind == ir::ValueKind::constant && !value->type.quant) {
      return constant(value, integer_activation(evaluate::constant_tensor(*value), params));
    }
    ir::Value*& known = integers_[{value, group}];
    if (known == nullptr) {
      ir::Value* real = as_float(value);  // from other parameters: via float, the only exact way between any two
      const ir::TensorType type = ir::quantized_type(real->type.shape, params, real->type.dim_order);
      known = conversion(value->name + "_quantize", kQuantize, real, params, type);
    }
    return known;
  }

  ir::Value* as_float(ir::Value* value) {
    if (!value->type.quant || value->kind == ir::ValueKind::constant) return value;
    ir::Value*& known = reals_[value];
    if (known == nullptr) {
      ir::TensorType type = ir::float_type(value->type.shape);
      type.dim_order = value->type.dim_order;
      known = conversion(value->name + "_dequantize", kDequantize, value, *value->type.quant, type);
    }
    return known;
  }

  ir::Value* conversion(std::string name, const char* op, ir::Value* from, const ir::QuantParams& params,
                        ir::TensorType type) {
    const ir::Location location = from->producer != nullptr ? from->producer->location : location_;
    return graph_
        .add_node(std::move(name), op, conversion_arguments(from, params), {std::move(type)}, location, before_)
        ->result();
  }

  void retype(ir::Value* value) {
    const auto group = annotation_.group_of.find(value);
    if (group == annotation_.group_of.end()) return;
    value->type = ir::quantized_type(value->type.shape, params_[group->second], value->type.dim_order);
  }

  ir::Graph& graph_;
  const Annotation& annotation_;
  const std::vector<ir::QuantParams>& params_;
  ir::Node* before_ = nullptr;  // new nodes go here; null: at the end
  ir::Location location_;
  std::map<const ir::Value*, std::vector<ir::Value*>> constants_;
  std::map<std::pair<const ir::Value*, std::size_t>, ir::Value*> integers_;
  std::map<const ir::Value*, ir::Value*> reals_;
};

}  // namespace

void convert(ir::Graph& graph, const Annotation& annotation, const std::vector<ir::QuantParams>& params,
             const QuantizeOptions& options) {
  Converter(graph, annotation, params).run(options.int8_io);
}

}  // namespace cormorant::quantizer
