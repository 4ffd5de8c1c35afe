// SPDX-License-Identifier: Apache-2.0
//
// Nodes are the program's operators already: aten.eq.Tensor_out(self, other), aten.where.self_out(condition, self,
// other) … ops/decompose creates them from PyTorch's forms.
#include <algorithm>
#include <cmath>
#include <ranges>
#include <unordered_map>

#include "base/diagnostic.h"
#include "ops/host/advice.h"
#include "ops/host/broadcast.h"
#include "ops/host/evaluate_planned.h"
#include "ops/host/references.h"
#include "ops/map/kernel.h"
#include "ops/nodes.h"

namespace cormorant::ops {
namespace map {
namespace {

bool is_comparison(std::string_view op) {
  constexpr std::string_view kNames[] = {nodes::aten_eq_Tensor_out, nodes::aten_ne_Tensor_out,
                                         nodes::aten_lt_Tensor_out, nodes::aten_le_Tensor_out,
                                         nodes::aten_gt_Tensor_out, nodes::aten_ge_Tensor_out};
  return std::ranges::find(kNames, op) != std::end(kNames);
}

bool gives_truth(std::string_view op) {
  constexpr std::string_view kNames[] = {nodes::aten_logical_and,     nodes::aten_logical_or, nodes::aten_logical_xor,
                                         nodes::aten_logical_not,     nodes::aten_isnan,      nodes::aten_isinf,
                                         nodes::cormorant_signbit_any};
  return is_comparison(op) || std::ranges::find(kNames, op) != std::end(kNames);
}

bool is_where(const ir::Node& node) {
  return node.op == nodes::aten_where_self_out || node.op == graph_name(names::cormorant_where_int8) ||
         node.op == graph_name(names::cormorant_where_int16);
}

bool is_plain_constant(const ir::Value* value) {
  return value->kind == ir::ValueKind::constant && !value->type.is_quantized();
}

// Quantized numbers compared with constants: real numbers, which lowering makes integers (int32).
bool is_threshold(const ir::Node& node) {
  if (!is_comparison(node.op) || !is_plain_constant(node.tensor("other"))) return false;
  const DType other = node.tensor("other")->type.dtype;
  if (other != DType::f32 && other != DType::i32) return false;
  const auto& quant = node.tensor("self")->type.quant;
  return quant && !quant->per_channel() && (quant->dtype == DType::i8 || quant->dtype == DType::i16);
}

QuantRule quantize_comparison(const ir::Node& node) {
  if (!is_plain_constant(node.tensor("other")) || is_plain_constant(node.tensor("self"))) {
    return {.output = QuantRule::Reject{"only comparisons of a tensor with a constant have an integer form"},
            .weights = {}};
  }
  return {
      .output = QuantRule::Observe{}, .weights = {}, .kept_real = {"other"}, .precisions = precisions::w8a8_w8a16()};
}

// Selected integers keep their meaning if both sides have the same scale. A placeholder (−∞) has no integer among them.
QuantRule quantize(const ir::Node& node) {
  constexpr float kLargest = 1e4F;
  if (is_comparison(node.op)) return quantize_comparison(node);
  if (!is_where(node)) {
    return {.output = QuantRule::Reject{"operator " + node.op + " has no integer form"}, .weights = {}};
  }
  for (const char* const side : {"self", "other"}) {
    const ir::Value* value = node.tensor(side);
    if (value->kind != ir::ValueKind::constant) continue;
    const evaluate::Tensor numbers = evaluate::constant_tensor(*value);
    const auto is_small = [](float number) { return std::abs(number) <= kLargest; };
    if (!std::ranges::all_of(numbers.values(), is_small)) {
      return {
          .output =
              QuantRule::Reject{"it fills with such a large number that int8 would have no levels left for the rest"},
          .weights = {}};
    }
  }
  return {.output = QuantRule::Share{}, .weights = {}, .kept_real = {}, .precisions = precisions::w8a8_w8a16()};
}

std::vector<ir::TensorType> infer(const ir::Node& node) {
  const bool chooses_integers = is_where(node) && node.result()->type.is_quantized();
  if (!chooses_integers && !is_threshold(node)) require_numbers(node);
  ir::Shape shape;
  for (const ir::Value* operand : node.inputs()) {
    const auto both = broadcast(shape, operand->type.shape);
    if (!both) refuse(node, "the operands' shapes do not match", kInconsistent);
    shape = *both;
  }
  DType dtype = node.inputs().back()->type.dtype;
  if (gives_truth(node.op)) dtype = DType::boolean;
  if (node.op == nodes::cormorant_convert_any) dtype = node.result()->type.dtype;  // the purpose of the node
  return {{dtype, std::move(shape), {}, chooses_integers ? node.result()->type.quant : std::nullopt}};
}

template <template <class> class S, Error (*kLoad)(Call&)>
Error plan_of(const S<TargetWorld>& args, Plan& plan) {
  if constexpr (kLoad == load_bitwise_not) {
    return plan_bitwise_not(args, plan);
  } else if constexpr (std::is_same_v<S<TargetWorld>, Unary<TargetWorld>>) {
    return plan_unary(args, plan);
  } else if constexpr (std::is_same_v<S<TargetWorld>, Binary<TargetWorld>>) {
    return plan_binary(args, plan);
  } else {
    return plan_where(args, plan);
  }
}

using Evaluate = std::vector<evaluate::Tensor> (*)(const ir::Node&, const evaluate::Frame&);

const std::unordered_map<std::string, Evaluate>& evaluations() {
  static const std::unordered_map<std::string, Evaluate> table = {
#define CORMORANT_EVALUATE_OURS(op, overload, code, load, execute, precision, S) \
  {graph_name(names::cormorant_##op##_##overload), evaluate_planned<S, Plan, plan_of<S, load>, execute>},
#define CORMORANT_EVALUATE_THEIRS(library, op, overload, code, load, execute, precision, S) \
  {graph_name(names::library##_##op##_##overload), evaluate_planned<S, Plan, plan_of<S, load>, execute>},
      CORMORANT_MAP_KERNELS(CORMORANT_EVALUATE_OURS, CORMORANT_EVALUATE_THEIRS, CORMORANT_EVALUATE_THEIRS)};
  return table;
}

std::vector<evaluate::Tensor> evaluate_map(const ir::Node& node, const evaluate::Frame& frame) {
  return evaluations().at(node.op)(node, frame);
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const DType dtype = node.result()->type.dtype;
  const bool is_ours = rewriter.config.runtime == Runtime::cormorant && node.op == nodes::aten_where_self_out &&
                       (dtype == DType::i8 || dtype == DType::i16) && node.result()->type.is_quantized() &&
                       node.tensor("condition")->type.dtype == DType::boolean;
  if (!is_ours) return nullptr;
  return rewriter
      .emit(
          Where<HostWorld>{
              .condition = node.tensor("condition"), .self = node.tensor("self"), .other = node.tensor("other")},
          node.result()->type, dtype == DType::i8 ? names::cormorant_where_int8 : names::cormorant_where_int16)
      ->result();
}

// The integer to compare a quantized number with, so that the answer is that of the number which it stands for, for
// every one: the real numbers ascend with the integers.
std::int32_t threshold(std::string_view op, const ir::QuantParams& quant, float number) {
  const std::int32_t low = quant.dtype == DType::i8 ? -128 : -32768, high = -low - 1;
  const auto real = [&](std::int32_t q) {
    return static_cast<float>(q - quant.zero_point()) * static_cast<float>(quant.scale());
  };
  // high + 1 if there is none.
  const auto first = [&](auto is_reached) {
    const auto all = std::views::iota(low, high + 1);
    return low +
           static_cast<std::int32_t>(
               std::ranges::partition_point(all, [&](std::int32_t q) { return !is_reached(real(q)); }) - all.begin());
  };
  if (op == nodes::aten_gt_Tensor_out) return first([&](float x) { return x > number; }) - 1;
  if (op == nodes::aten_ge_Tensor_out) return first([&](float x) { return x >= number; });
  if (op == nodes::aten_lt_Tensor_out) return first([&](float x) { return !(x < number); });
  if (op == nodes::aten_le_Tensor_out) return first([&](float x) { return !(x <= number); }) - 1;
  const std::int32_t candidate = first([&](float x) { return x >= number; });
  return candidate <= high && real(candidate) == number ? candidate : high + 1;
}

ir::Value* lower_comparison(const Rewriter& rewriter) {
  ir::Node& node = rewriter.node;
  if (!is_threshold(node) || node.tensor("other")->type.dtype != DType::f32) return nullptr;
  const evaluate::Tensor numbers = evaluate::constant_tensor(*node.tensor("other"));
  std::vector<std::int32_t> thresholds;
  for (const float number : numbers.values()) {
    thresholds.push_back(threshold(node.op, *node.tensor("self")->type.quant, number));
  }
  const ir::TensorType type{DType::i32, numbers.shape, {}, std::nullopt};
  node.set("other", rewriter.constant("thresholds", type, std::span<const std::int32_t>(thresholds)));
  return nullptr;
}

bool in_place(const ir::Node& node, std::string_view argument) {
  return node.tensor(argument)->type.shape == node.result()->type.shape &&
         node.tensor(argument)->type.dim_order == node.result()->type.dim_order;
}

}  // namespace

CORMORANT_REFERENCES(map, CORMORANT_MAP_KERNELS)

}  // namespace map

Operator map_operator() {
  return {.name = "map",
          .elementwise = true,
          .canonical = canonical_of(map::cormorant_list_map),
          .infer = map::infer,
          .evaluate = map::evaluate_map,
          .quantize = map::quantize,
          .lower = map::lower,
          .lower_float = map::lower_comparison,
          .in_place = map::in_place};
}

}  // namespace cormorant::ops
