// SPDX-License-Identifier: Apache-2.0
#include "ops/host/broadcast.h"

#include <algorithm>
#include <cmath>

#include "base/diagnostic.h"
#include "ops/host/advice.h"
#include "ops/host/multiplier.h"
#include "ops/host/words.h"
#include "ops/nodes.h"

namespace cormorant::ops {

std::optional<ir::Shape> broadcast(const ir::Shape& a, const ir::Shape& b) {
  ir::Shape shape(std::max(a.size(), b.size()));
  for (std::size_t i = 1; i <= shape.size(); ++i) {
    const std::int64_t x = i <= a.size() ? a[a.size() - i] : 1;
    const std::int64_t y = i <= b.size() ? b[b.size() - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    shape[shape.size() - i] = x == 1 ? y : x;
  }
  return shape;
}

void refuse(const ir::Node& node, std::string problem, std::string advice) {
  throw InputError(
      {.problem = std::move(problem), .advice = std::move(advice), .node = node.name, .source = node.location.text()});
}

// ---- import ---------------------------------------------------------------------------------------------------------

ir::Value* number_constant(Importer& importer, const char* argument, double number) {
  const float value[] = {static_cast<float>(number)};
  return importer.graph->add_constant(importer.call->name + "_" + argument, ir::float_type({}),
                                      ir::Bytes::of(std::span<const float>(value)));
}

ir::Value* operand_of(Importer& importer, const char* argument) {
  const ir::Node& call = *importer.call;
  if (std::holds_alternative<ir::Value*>(call.get(argument))) return call.tensor(argument);
  return number_constant(importer, argument, call.number(argument));
}

std::optional<double> as_number(const ir::Node& call, const char* argument) {
  if (!std::holds_alternative<ir::Value*>(call.get(argument))) return call.number(argument);
  const ir::Value& value = *call.tensor(argument);
  if (value.kind != ir::ValueKind::constant || value.type.dtype != DType::f32 || value.type.elements() != 1)
    return std::nullopt;
  return value.data.as<float>()[0];
}

// ---- semantics ------------------------------------------------------------------------------------------------------

std::vector<ir::TensorType> infer_broadcast(const ir::Node& node) {
  auto shape = broadcast(node.tensor("self")->type.shape, node.tensor("other")->type.shape);
  if (!shape) {
    refuse(node, "the operands' shapes do not match", kInconsistent);
  }
  return {ir::float_type(std::move(*shape))};
}

BroadcastWalk broadcast_walk(const ir::Shape& from, const ir::Shape& shape) {
  BroadcastWalk walk{{0}, 0};
  std::size_t stride = 1;
  for (const std::int64_t size : from) stride *= static_cast<std::size_t>(size);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool given = d + from.size() >= shape.size();
    const std::int64_t size = given ? from[d + from.size() - shape.size()] : 1;
    stride /= static_cast<std::size_t>(std::max<std::int64_t>(size, 1));
    const std::size_t step = size == 1 ? 0 : stride;
    if (d + 1 == shape.size()) {
      walk.step = step;
      break;
    }
    std::vector<std::size_t> next;
    next.reserve(walk.rows.size() * static_cast<std::size_t>(shape[d]));
    for (const std::size_t base : walk.rows) {
      for (std::int64_t i = 0; i < shape[d]; ++i) next.push_back(base + static_cast<std::size_t>(i) * step);
    }
    walk.rows = std::move(next);
  }
  return walk;
}

// ---- quantization and lowering --------------------------------------------------------------------------------------

QuantRule quantize_broadcast(const ir::Node& node, QuantRule rule) {
  const auto is_constant = [&](const char* name) { return node.tensor(name)->kind == ir::ValueKind::constant; };
  if (is_constant("self") && is_constant("other")) rule.output = QuantRule::Reject{"both operands are constant"};
  return rule;
}

namespace {

bool is_channel_vector(const ir::Shape& vector, const ir::Shape& full) {
  return vector.size() == 4 && full.size() == 4 && vector == ir::Shape{1, full[1], 1, 1};
}

ir::Shape with_rank(const ir::Shape& shape, std::size_t rank) {
  ir::Shape full(rank - shape.size(), 1);
  full.insert(full.end(), shape.begin(), shape.end());
  return full;
}

// A number in an already quantized model has no parameters yet; its largest element gets the last level.
ir::QuantParams parameters_for(const Rewriter& rewriter, const char* name, std::span<const float> numbers) {
  double largest = 0;
  for (const float number : numbers) {
    if (!std::isfinite(number)) {
      refuse(rewriter.node, std::string("its constant ") + name + " contains an infinity or NaN",
             "check the model's constants there");
    }
    largest = std::max(largest, std::abs(static_cast<double>(number)));
  }
  if (!has_words(rewriter.node)) return ir::per_tensor_i8(largest == 0 ? 1.0 : largest / 127, 0);
  return {DType::i16, -32768, 32767, std::nullopt, {largest == 0 ? 1.0 : largest / 32767}, {0}};
}

template <class T>
ir::Value* integer_constant(const Rewriter& rewriter, const char* name, const ir::Shape& shape,
                            std::span<const float> numbers, const ir::QuantParams& quant) {
  std::vector<T> integers;
  integers.reserve(numbers.size());
  for (const float number : numbers) {
    integers.push_back(
        static_cast<T>(quantize_value(number, quant.scale(), quant.zero_point(), quant.qmin, quant.qmax)));
  }
  return rewriter.constant(name, ir::quantized_type(shape, quant), std::span<const T>(integers));
}

ir::Value* quantized_constant(const Rewriter& rewriter, const char* name, const ir::Value& value,
                              const ir::QuantParams* given) {
  const evaluate::Tensor tensor = evaluate::constant_tensor(value);  // contiguous
  const ir::QuantParams quant = given != nullptr ? *given : parameters_for(rewriter, name, tensor.values());
  if (quant.dtype == DType::i16) {
    return integer_constant<std::int16_t>(rewriter, name, value.type.shape, tensor.values(), quant);
  }
  return integer_constant<std::int8_t>(rewriter, name, value.type.shape, tensor.values(), quant);
}

// The same constant with another shape; a full one is repeated to it.
ir::Value* reshaped_constant(const Rewriter& rewriter, const char* name, const ir::Value& value, const ir::Shape& shape,
                             bool repeat) {
  ir::TensorType type = value.type;
  if (!type.dim_order.empty() && !std::ranges::is_sorted(type.dim_order)) {
    refuse(rewriter.node, "a constant operand is not contiguous", "call contiguous() on it in the model");
  }
  type.dim_order.clear();
  const ir::Shape from = std::exchange(type.shape, repeat ? shape : with_rank(value.type.shape, shape.size()));
  if (!repeat) return rewriter.graph.add_constant(rewriter.node.name + "_" + name, std::move(type), value.data);
  const BroadcastWalk walk = broadcast_walk(from, shape);
  const auto repeated = [&]<class T>(std::span<const T> data) {
    std::vector<T> all;
    all.reserve(static_cast<std::size_t>(type.elements()));
    for (const std::size_t row : walk.rows) {
      for (std::int64_t i = 0; i < (shape.empty() ? 1 : shape.back()); ++i)
        all.push_back(data[row + static_cast<std::size_t>(i) * walk.step]);
    }
    return rewriter.constant(name, std::move(type), std::span<const T>(all));
  };
  return type.dtype == DType::i16 ? repeated(value.data.as<std::int16_t>()) : repeated(value.data.as<std::int8_t>());
}

void require_executorch_can(const ir::Node& node, const ir::Shape& operand, ExecutorchBroadcast allowed) {
  const ir::Shape& out = node.result()->type.shape;
  const ir::Shape shape = with_rank(operand, out.size());
  if (shape == out) return;
  if (allowed == ExecutorchBroadcast::channels && is_channel_vector(shape, out)) return;
  if (allowed == ExecutorchBroadcast::any_contiguous && out.size() < 4) return;
  refuse(node, "ExecuTorch's Cortex-M kernel cannot broadcast this operand along the required dimensions",
         "compile for Cormorant's own runtime, or expand() the operand in the model");
}

ir::Value* full_rank_operand(const Rewriter& rewriter, const char* name, ExecutorchBroadcast allowed) {
  const bool executorch = rewriter.config.runtime == Runtime::executorch;
  const ir::Shape& out = rewriter.node.result()->type.shape;
  ir::Value* value = rewriter.node.tensor(name);
  if (value->kind == ir::ValueKind::constant) {
    const bool full = value->type.shape == out || (value->type.rank() == out.size() && !executorch);
    return full ? value : reshaped_constant(rewriter, name, *value, out, executorch);
  }
  if (executorch) require_executorch_can(rewriter.node, value->type.shape, allowed);
  if (value->type.rank() == out.size()) return value;
  ir::TensorType type = value->type;
  type.shape = with_rank(type.shape, out.size());
  type.dim_order.clear();
  const ir::Shape shape = type.shape;
  return rewriter.graph
      .add_node(rewriter.node.name + "_" + name, nodes::aten_view, {{"self", value}, {"size", shape}},
                {std::move(type)}, rewriter.node.location, &rewriter.node)
      ->result();
}

}  // namespace

Operands broadcast_operands(const Rewriter& rewriter, ExecutorchBroadcast allowed, const ir::QuantParams* constants,
                            WordsFor words) {
  ir::Node& node = rewriter.node;
  for (const char* name : {"self", "other"}) {
    const ir::Value* value = node.tensor(name);
    if (value->kind != ir::ValueKind::constant) continue;
    const bool is_foreign = constants != nullptr && value->type.quant != *constants;
    if (!value->type.quant || is_foreign) node.set(name, quantized_constant(rewriter, name, *value, constants));
  }
  if (has_words(node)) {
    if (words == WordsFor::ours) require_runtime_with_words(rewriter);
    require_symmetric_words(node, {node.tensor("self"), node.tensor("other")});
    return {full_rank_operand(rewriter, "self", allowed), full_rank_operand(rewriter, "other", allowed)};
  }
  for (const ir::Value* value : {node.tensor("self"), node.tensor("other"), node.result()}) {
    const auto& quant = value->type.quant;
    if (!quant || quant->dtype != DType::i8 || quant->per_channel()) {
      refuse(node, node.op.substr(node.op.find('.') + 1) + " supports only int8 operands with one scale each",
             "quantize the model to int8, activations per tensor");
    }
  }
  return {full_rank_operand(rewriter, "self", allowed), full_rank_operand(rewriter, "other", allowed)};
}

Levels activation_levels(const ir::Node& node) {
  const ir::QuantParams& quant = node.result()->type.quant.value();
  const auto level = [&](const char* bound, std::int32_t none) {
    if (!node.has(bound)) return none;
    return quantize_value(node.number(bound), quant.scale(), quant.zero_point(), quant.qmin, quant.qmax);
  };
  return {level("activation_min", quant.qmin), level("activation_max", quant.qmax)};
}

bool takes_place_of(const ir::Node& node, std::string_view argument) {
  const ir::TensorType& type = node.tensor(argument)->type;
  const ir::TensorType& result = node.result()->type;
  return type.bytes() == result.bytes() && type.dim_order == result.dim_order;
}

}  // namespace cormorant::ops
