// SPDX-License-Identifier: Apache-2.0
//
// aten.add(self, other, alpha), from PyTorch's spellings down to cortex_m.quantized_add.
#include <algorithm>
#include <cmath>

#include "base/diagnostic.h"
#include "ops/add/add.h"
#include "ops/add/prepack.h"
#include "ops/add/reference.h"
#include "ops/multiplier.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace add {
namespace {

constexpr const char* kCanonical = "aten.add";

[[noreturn]] void refuse(const ir::Node& node, std::string problem, std::string advice) {
  throw InputError(
      {.problem = std::move(problem), .advice = std::move(advice), .node = node.name, .source = node.location.text()});
}

// x + 1 is exported as add.Tensor with a number as its second operand; a number is a constant without dimensions.
std::vector<ir::Value*> import_add(Importer& importer) {
  const ir::Node& call = *importer.call;
  if (std::holds_alternative<ir::Value*>(call.get("other"))) {
    return importer
        .node(kCanonical,
              {{"self", call.tensor("self")}, {"other", call.tensor("other")}, {"alpha", call.number("alpha")}})
        ->results;
  }
  const float number[] = {static_cast<float>(call.number("other") * call.number("alpha"))};
  ir::Value* other = importer.graph->add_constant(call.name + "_other", ir::float_type({}),
                                                  ir::Bytes::of(std::span<const float>(number)));
  return importer.node(kCanonical, {{"self", call.tensor("self")}, {"other", other}, {"alpha", 1.0}})->results;
}

// ---- semantics ------------------------------------------------------------------------------------------------------

// PyTorch's broadcast: dimensions are matched from the last, and one of 1 repeats. None: the shapes do not match.
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

// For every element of `shape`, in logical order, the index of its element in an operand of shape `from`.
std::vector<std::size_t> broadcast_indices(const ir::Shape& from, const ir::Shape& shape) {
  std::vector<std::size_t> indices = {0};
  std::size_t stride = 1;
  for (const std::int64_t size : from) stride *= static_cast<std::size_t>(size);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool given = d + from.size() >= shape.size();
    const std::int64_t size = given ? from[d + from.size() - shape.size()] : 1;
    stride /= static_cast<std::size_t>(std::max<std::int64_t>(size, 1));
    std::vector<std::size_t> next;
    next.reserve(indices.size() * static_cast<std::size_t>(shape[d]));
    for (const std::size_t base : indices) {
      for (std::int64_t i = 0; i < shape[d]; ++i)
        next.push_back(base + (size == 1 ? 0 : static_cast<std::size_t>(i) * stride));
    }
    indices = std::move(next);
  }
  return indices;
}

std::vector<ir::TensorType> infer(const ir::Node& node) {
  auto shape = broadcast(node.tensor("self")->type.shape, node.tensor("other")->type.shape);
  if (!shape) {
    refuse(node, "the operands' shapes do not match", "the model's export is inconsistent: export it again");
  }
  return {ir::float_type(std::move(*shape))};
}

std::vector<evaluate::Tensor> evaluate_add(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor& self = frame.get(node.tensor("self"));
  const evaluate::Tensor& other = frame.get(node.tensor("other"));
  const auto alpha = static_cast<float>(node.number("alpha"));
  const ir::Shape shape = broadcast(self.shape, other.shape).value();
  const bool equal = self.shape == other.shape;
  const auto a = equal ? std::vector<std::size_t>{} : broadcast_indices(self.shape, shape);
  const auto b = equal ? std::vector<std::size_t>{} : broadcast_indices(other.shape, shape);
  std::vector<float> out(equal ? self.values().size() : a.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const float x = self.values()[equal ? i : a[i]];
    const float y = other.values()[equal ? i : b[i]];
    out[i] = x + alpha * y;
  }
  return {evaluate::with_activation(node, evaluate::Tensor(shape, std::move(out)))};
}

// ---- quantization and lowering --------------------------------------------------------------------------------------

// What cortex_m.quantized_add computes: equal shapes, or one value per channel.
bool is_channel_vector(const ir::Shape& vector, const ir::Shape& full) {
  return vector.size() == 4 && full.size() == 4 && vector == ir::Shape{1, full[1], 1, 1};
}

QuantRule quantize(const ir::Node& node) {
  QuantRule rule;
  const ir::Shape& out = node.result()->type.shape;
  for (const char* name : {"self", "other"}) {
    const ir::Value& operand = *node.tensor(name);
    if (operand.kind == ir::ValueKind::constant) {
      rule.weights.push_back({.argument = name, .axis = std::nullopt});  // repeated by lowering where it must be
    } else if (operand.type.shape != out && !is_channel_vector(operand.type.shape, out)) {
      rule.output = QuantRule::Reject{"one operand is repeated along a dimension other than all but the channels"};
    }
  }
  if (rule.weights.size() == 2) rule.output = QuantRule::Reject{"both operands are constant"};
  return rule;
}

// The constant as an operand of the kernel: one value per channel if it is that, else a copy in the result's shape and
// memory order (channels last for four dimensions, as all activations have it).
ir::Value* expand_constant(const Rewriter& rewriter, ir::Value* constant, const ir::Shape& out) {
  ir::TensorType type = constant->type;
  const std::vector<std::size_t> from = broadcast_indices(type.shape, out);
  const auto data = constant->data.as<std::int8_t>();
  if (!type.dim_order.empty() && !std::ranges::is_sorted(type.dim_order)) {
    refuse(rewriter.node, "a constant operand is not contiguous", "call contiguous() on it in the model");
  }
  const bool spatial = out.size() == 4;
  const std::size_t channels = spatial ? static_cast<std::size_t>(out[1]) : 1;
  const std::size_t area = spatial ? static_cast<std::size_t>(out[2] * out[3]) : 1;
  const bool per_channel = spatial && broadcast(type.shape, {1, out[1], 1, 1}) == ir::Shape{1, out[1], 1, 1};
  std::vector<std::int8_t> values;
  type.shape = per_channel ? ir::Shape{1, out[1], 1, 1} : out;
  type.dim_order = spatial ? ir::kChannelsLast : std::vector<std::uint8_t>{};
  if (per_channel) {
    for (std::size_t c = 0; c < channels; ++c) values.push_back(data[from[c * area]]);
  } else {
    for (std::size_t n = 0; n < from.size() / (channels * area); ++n) {
      for (std::size_t i = 0; i < area; ++i) {
        for (std::size_t c = 0; c < channels; ++c) values.push_back(data[from[(n * channels + c) * area + i]]);
      }
    }
  }
  return rewriter.constant("other", std::move(type), std::span<const std::int8_t>(values));
}

ir::Value* operand(const Rewriter& rewriter, const char* name) {
  ir::Value* value = rewriter.node.tensor(name);
  if (value->kind != ir::ValueKind::constant) return value;
  return expand_constant(rewriter, value, rewriter.node.result()->type.shape);
}

// A rescaling of the sum to the left is done in 32 bits: the largest sum must survive it.
void check_overflow(const ir::Node& node, const ir::QuantParams& self, const ir::QuantParams& other, double other_scale,
                    double common, std::int32_t shift) {
  const auto extent = [](const ir::QuantParams& q) {
    return std::max(std::abs(q.qmin - q.zero_point()), std::abs(q.qmax - q.zero_point()));
  };
  const double largest = std::ldexp((extent(self) * self.scale() + extent(other) * other_scale) / common, kLeftShift);
  if (std::ldexp(largest, std::max(shift, 0)) >= std::ldexp(1.0, 31)) {
    refuse(node, "the sum's scale is too small for its operands' scales: they nearly cancel in the calibration data",
           "calibrate with representative data");
  }
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const ir::QuantParams& self_q = node.tensor("self")->type.quant.value();
  const ir::QuantParams& other_q = node.tensor("other")->type.quant.value();
  const ir::QuantParams& output_q = node.result()->type.quant.value();
  if (self_q.dtype != DType::i8 || other_q.dtype != DType::i8 || output_q.dtype != DType::i8) {
    refuse(node, "add is supported with int8 operands only", "quantize the model to int8");
  }
  const double alpha = node.number("alpha");
  const double other_scale = other_q.scale() * std::abs(alpha);
  const double common = 2 * std::max(self_q.scale(), other_scale);
  const Multiplier self = quantize_multiplier(self_q.scale() / common);
  const Multiplier other = quantize_multiplier(other_scale / common);
  const Multiplier output = quantize_multiplier(common / (output_q.scale() * (1 << kLeftShift)));
  check_overflow(node, self_q, other_q, other_scale, common, output.shift);

  QuantizedAdd<HostWorld> call{.self = operand(rewriter, "self")};
  call.self_zero_point = self_q.zero_point();
  call.self_multiplier = self.multiplier;
  call.self_shift = self.shift;
  call.other = operand(rewriter, "other");
  call.other_zero_point = other_q.zero_point();
  call.other_multiplier = alpha < 0 ? -other.multiplier : other.multiplier;
  call.other_shift = other.shift;
  call.output_zero_point = output_q.zero_point();
  call.output_multiplier = output.multiplier;
  call.output_shift = output.shift;
  const auto level = [&](const char* bound, std::int32_t none) {
    if (!node.has(bound)) return none;
    return quantize_value(node.number(bound), output_q.scale(), output_q.zero_point(), output_q.qmin, output_q.qmax);
  };
  call.activation_min = level("activation_min", output_q.qmin);
  call.activation_max = level("activation_max", output_q.qmax);
  return rewriter.emit(call, node.result()->type)->result();
}

// Every element is read before it is written, whichever operand's place it takes.
bool in_place(const ir::Node& node, std::string_view argument) {
  return node.tensor(argument)->type.bytes() == node.result()->type.bytes();
}

}  // namespace
}  // namespace add

Operator add_operator() {
  return {.name = "add",
          .layout = Layout::channels_last,  // which constants are made for
          .elementwise = true,
          .forms = {{"add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)", add::import_add},
                    {"add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1)", add::import_add},
                    {"add.Scalar(Tensor self, Scalar other, Scalar alpha=1)", add::import_add},
                    {"add_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1)", add::import_add}},
          .canonical = {add::kCanonical},
          .infer = add::infer,
          .evaluate = add::evaluate_add,
          .quantize = add::quantize,
          .fuses_activation = true,
          .lower = add::lower,
          .signatures = {signature_of<add::QuantizedAdd>(), signature_of<add::FactorAdd>(add::kFactorAddScalar),
                         signature_of<add::FactorAdd>(add::kFactorAddMve)},
          .prepack = add::prepack,
          .in_place = add::in_place,
          .host_kernels = {&add::kReference, &add::kFactorScalarReference, &add::kFactorMveReference}};
}

}  // namespace cormorant::ops
