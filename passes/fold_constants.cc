// SPDX-License-Identifier: Apache-2.0
//
// Expressions of constants are computed now, in float: positional embeddings, scaled weights, masks. Integers that
// stand for real numbers (after a dequantize) stay, since their parameters are worth keeping.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/diagnostic.h"
#include "base/element.h"
#include "ops/host/build.h"
#include "ops/host/known.h"
#include "ops/nodes.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

bool is_float(const ir::TensorType& type) { return type.dtype == DType::f32 && !type.is_quantized(); }

bool is_number(const ir::TensorType& type) {
  return is_float(type) || (is_integer(type.dtype) && !type.is_quantized() && type.dim_order.empty());
}

bool is_foldable(const ir::Node& node, const ops::Operator* op) {
  if (op == nullptr || op->evaluate == nullptr || ops::nodes::is_conversion(node.op)) return false;
  const std::vector<ir::Value*> inputs = node.inputs();
  return !inputs.empty() && std::ranges::all_of(inputs, [](const ir::Value* v) {
    return v->kind == ir::ValueKind::constant && is_number(v->type);
  }) && std::ranges::all_of(node.results, [](const ir::Value* v) { return is_number(v->type); });
}

// A constant expanded to something enormous would fill the flash; computed at run time, it takes memory only for a
// while.
constexpr std::int64_t kLarge = std::int64_t{16} << 20;
constexpr std::int64_t kTimes = 16;
bool is_blown_up(const ir::Node& node) {
  const auto bytes_of_all = [](const auto& values) {
    std::int64_t sum = 0;
    for (const ir::Value* value : values) sum += value->type.bytes();
    return sum;
  };
  const std::int64_t made = bytes_of_all(node.results);
  return made > kLarge && made / kTimes > bytes_of_all(node.inputs());
}

std::vector<std::byte> bytes_of(DType type, std::span<const float> values) {
  std::vector<std::byte> bytes(values.size() * size_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) {
    set_real(type, bytes.data(), static_cast<std::uint32_t>(i), values[i]);
  }
  return bytes;
}

// A number that a quantized model still quantizes: the integers it becomes.
bool is_quantized_number(const ir::Node& node) {
  if (node.op != ops::nodes::quantized_decomposed_quantize_per_tensor || node.result()->type.dtype != DType::i8)
    return false;
  const ir::Value* input = node.tensor("input");
  return input->kind == ir::ValueKind::constant && is_float(input->type);
}

ir::Value* add_integers(ir::Graph& graph, const ir::Node& node) {
  const ir::QuantParams& quant = *node.result()->type.quant;
  std::vector<std::int8_t> integers;
  for (const float value : node.tensor("input")->data.as<float>()) {
    if (std::isnan(value)) {
      throw InputError(
          {.problem = "the constant '" + node.tensor("input")->name + "' contains a NaN, which cannot be quantized",
           .advice = "check the model's constants there",
           .node = node.name,
           .source = node.location.text()});
    }
    const double rounded = std::nearbyint(double{value} / quant.scale()) + quant.zero_point();
    integers.push_back(static_cast<std::int8_t>(std::clamp<double>(rounded, quant.qmin, quant.qmax)));
  }
  return graph.add_constant(node.result()->name + "_int", node.result()->type,
                            ir::Bytes::of(std::span<const std::int8_t>(integers)));
}

// Integers with another shape are the same bytes.
bool is_view_of_integers(const ir::Node& node) {
  if (node.op != ops::nodes::aten_view) return false;
  const ir::Value* input = node.tensor("self");
  return input->kind == ir::ValueKind::constant && input->type.is_quantized() && !input->type.quant->per_channel() &&
         input->type.dim_order.empty() && node.result()->type.quant == input->type.quant;
}

// Masked scores compared with minus infinity, as PyTorch's decomposition of attention does: scores themselves are
// finite, so that the mask that is added decides. The answers as a constant; null if it is another node.
ir::Value* masked_places(ir::Graph& graph, const ir::Node& node) {
  if (node.op != ops::nodes::aten_eq_Tensor_out) return nullptr;
  constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
  const ir::Value* number = node.tensor("other");
  if (number->kind != ir::ValueKind::constant || !is_float(number->type) || number->type.elements() != 1 ||
      number->data.as<float>().front() != kMinusInfinity) {
    return nullptr;
  }
  const ir::Node* sum = node.tensor("self")->producer;
  if (sum == nullptr || sum->op != ops::nodes::aten_add || node.result()->type.elements() > kLarge) return nullptr;
  if (sum->number("alpha") != 1) return nullptr;
  for (const auto& [mask_name, scores_name] : {std::pair("self", "other"), std::pair("other", "self")}) {
    const ir::Value* mask = sum->tensor(mask_name);
    if (mask->kind != ir::ValueKind::constant || !is_float(mask->type)) continue;
    if (ops::may_be_minus_infinity(sum->tensor(scores_name))) continue;
    const evaluate::Tensor numbers = evaluate::constant_tensor(*mask);
    const ir::Shape& shape = node.result()->type.shape;
    std::vector<float> answers;
    for (std::int64_t i = 0; i < node.result()->type.elements(); ++i) {
      std::int64_t rest = i, at = 0, step = 1;
      for (std::size_t d = 0; d < mask->type.rank(); ++d) {  // from the last: the mask is broadcast
        const std::int64_t size = shape[shape.size() - 1 - d], own = mask->type.shape[mask->type.rank() - 1 - d];
        at += own == 1 ? 0 : rest % size * step;
        step *= own;
        rest /= size;
      }
      answers.push_back(numbers.values()[static_cast<std::size_t>(at)] == kMinusInfinity ? 1.0F : 0.0F);
    }
    const ir::TensorType& type = node.result()->type;
    return graph.add_constant(node.result()->name + "_folded", type, ir::Bytes::own(bytes_of(type.dtype, answers)));
  }
  return nullptr;
}

// A choice that the same side wins everywhere: that side. Null if it is another node.
ir::Value* chosen(const ir::Node& node) {
  if (node.op != ops::nodes::aten_where_self_out) return nullptr;
  const ir::Value* condition = node.tensor("condition");
  if (condition->kind != ir::ValueKind::constant || condition->type.elements() == 0) return nullptr;
  const evaluate::Tensor tensor = evaluate::constant_tensor(*condition);
  const auto is_true = [](float x) { return x != 0; };
  const bool first = is_true(tensor.values().front());
  if (!std::ranges::all_of(tensor.values(), [&](float x) { return is_true(x) == first; })) return nullptr;
  ir::Value* side = node.tensor(first ? "self" : "other");
  return side->type == node.result()->type ? side : nullptr;
}

}  // namespace

void fold_constants(ir::Graph& graph) {
  for (ir::Node* node : graph.snapshot()) {
    // What the graph returns stays a computed value.
    if (std::ranges::any_of(node->results, [&](const ir::Value* v) { return graph.is_kept(v); })) continue;
    if (is_quantized_number(*node)) {
      graph.replace_uses(node->result(), add_integers(graph, *node));
      graph.erase(node);
      continue;
    }
    if (is_view_of_integers(*node)) {
      ir::Value* input = node->tensor("self");
      graph.replace_uses(node->result(),
                         graph.add_constant(input->name + "_viewed", node->result()->type, input->data));
      graph.erase(node);
      continue;
    }
    ir::Value* known = chosen(*node);
    if (known == nullptr) known = masked_places(graph, *node);
    if (known != nullptr) {
      graph.replace_uses(node->result(), known);
      graph.erase(node);
      continue;
    }
    const ops::Operator* op = ops::find(*node);
    if (!is_foldable(*node, op) || is_blown_up(*node)) continue;
    const std::vector<ir::Value*> inputs = node->inputs();
    const bool is_known = std::ranges::all_of(
        inputs, [](const ir::Value* v) { return ops::is_exact(v->type, evaluate::constant_tensor(*v)); });
    if (!is_known) continue;  // integers too large for a float are left to the program
    const std::vector<evaluate::Tensor> values = op->evaluate(*node, evaluate::Frame());
    bool are_exact = true;
    for (std::size_t i = 0; i < values.size(); ++i) {
      are_exact = are_exact && ops::is_exact(node->results[i]->type, values[i]);
    }
    if (!are_exact) continue;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const ir::TensorType& type = node->results[i]->type;
      graph.replace_uses(node->results[i],
                         graph.add_constant(node->results[i]->name + "_folded", type,
                                            ir::Bytes::own(bytes_of(type.dtype, values[i].values()))));
    }
    graph.erase(node);
  }
  graph.erase_unused();
}

}  // namespace cormorant::passes
