// SPDX-License-Identifier: Apache-2.0
//
// quantized_decomposed.dequantize_per_tensor, which PT2E and our quantizer insert, and cortex_m.dequantize_per_tensor.
#include <bit>

#include "base/diagnostic.h"
#include "ops/dequantize/dequantize.h"
#include "ops/dequantize/reference.h"
#include "ops/host/quantization.h"
#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

constexpr const char* kCanonical = nodes::quantized_decomposed_dequantize_per_tensor;

constexpr const char* kChannels = "quantized_decomposed.dequantize_per_channel";

// A constant list of numbers, whatever type an exporter chose for it.
std::vector<double> numbers(const ir::Value& value) {
  const auto list = [&]<class T>(T) {
    const auto data = value.data.as<T>();
    return std::vector<double>(data.begin(), data.end());
  };
  switch (value.type.dtype) {
    case DType::f64:
      return list(double{});
    case DType::i64:
      return list(std::int64_t{});
    case DType::i32:
      return list(std::int32_t{});
    case DType::i8:
      return list(std::int8_t{});
    default:
      return list(float{});
  }
}

std::vector<ir::TensorType> infer(const ir::Node& node) {
  if (node.op == kCanonical) check_quantization(node);
  ir::TensorType type = node.tensor("input")->type;
  type.dtype = DType::f32;
  type.quant.reset();
  return {std::move(type)};
}

// The parameters belong to the input: a constant that arrives as bare integers learns here what they mean.
std::vector<ir::Value*> import_dequantize(Importer& importer) {
  const ir::Node& call = *importer.call;
  ir::Value* input = call.tensor("input");
  if (!input->type.quant) {
    input->type.quant = ir::QuantParams{.dtype = input->type.dtype,
                                        .qmin = static_cast<std::int32_t>(call.integer("quant_min")),
                                        .qmax = static_cast<std::int32_t>(call.integer("quant_max")),
                                        .axis = std::nullopt,
                                        .scales = {call.number("scale")},
                                        .zero_points = {static_cast<std::int32_t>(call.integer("zero_point"))}};
  }
  std::vector<ir::NamedArgument> args = call.args;
  std::erase_if(args, [](const ir::NamedArgument& arg) { return arg.name == "out_dtype"; });
  return importer.node(kCanonical, std::move(args))->results;
}

// Weights of a quantized model: constants with one scale per channel. The node disappears when the model's parameters
// are adopted; only its input, which then has them, stays.
std::vector<ir::Value*> import_dequantize_channels(Importer& importer) {
  const ir::Node& call = *importer.call;
  ir::Value* input = call.tensor("input");
  ir::Value* scales = call.tensor("scales");
  ir::Value* zero_points = call.has("zero_points") ? call.tensor("zero_points") : nullptr;
  const auto is_constant = [](const ir::Value* v) { return v == nullptr || v->kind == ir::ValueKind::constant; };
  if (!is_constant(input) || !is_constant(scales) || !is_constant(zero_points)) {
    importer.reject("only constants can have one scale per channel", "quantize activations per tensor");
  }
  const std::int64_t rank = static_cast<std::int64_t>(input->type.rank());
  const std::int64_t axis = call.integer("axis") < 0 ? call.integer("axis") + rank : call.integer("axis");
  ir::QuantParams quant{.dtype = input->type.dtype,
                        .qmin = static_cast<std::int32_t>(call.integer("quant_min")),
                        .qmax = static_cast<std::int32_t>(call.integer("quant_max")),
                        .axis = static_cast<std::int32_t>(axis),
                        .scales = numbers(*scales),
                        .zero_points = {}};
  if (zero_points != nullptr) {
    for (const double zero : numbers(*zero_points)) quant.zero_points.push_back(static_cast<std::int32_t>(zero));
  }
  quant.zero_points.resize(quant.scales.size(), 0);
  if (axis < 0 || axis >= rank ||
      quant.scales.size() != static_cast<std::size_t>(input->type.shape[static_cast<std::size_t>(axis)]) ||
      quant.zero_points.size() != quant.scales.size()) {
    importer.reject("the number of scales does not match the channels", "the file is damaged: export it again");
  }
  input->type.quant = std::move(quant);
  return importer.node(kChannels, {{"input", input}})->results;
}

// Tensors of a quantized graph are the real numbers that their integers stand for: nothing remains to be done.
std::vector<evaluate::Tensor> evaluate_dequantize(const ir::Node& node, const evaluate::Frame& frame) {
  return {frame.get(node.tensor("input"))};
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const auto dtype = std::get<DType>(node.get("dtype"));
  const auto scale = static_cast<float>(node.number("scale"));
  if (!is_dequantizable_dtype(dtype) || !is_dequantizable_scale(std::bit_cast<std::uint32_t>(scale))) {
    throw InputError({.problem = std::string("cannot dequantize ") + name_of(dtype) + " with this scale",
                      .advice = "int8 and int16 with a scale between 2^-100 and 2^100 are supported",
                      .node = node.name,
                      .source = node.location.text()});
  }
  return rewriter
      .emit(DequantizePerTensor<HostWorld>{.input = node.tensor("input"),
                                           .scale = node.number("scale"),
                                           .zero_point = node.integer("zero_point"),
                                           .quant_min = node.integer("quant_min"),
                                           .quant_max = node.integer("quant_max"),
                                           .dtype = dtype},
            node.result()->type, names::cortex_m_dequantize_per_tensor_out)
      ->result();
}

}  // namespace

Operator dequantize_operator() {
  return {.name = "dequantize",
          .forms = {{"quantized_decomposed::dequantize_per_tensor.default(Tensor input, float scale, int zero_point, "
                     "int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None)",
                     import_dequantize},
                    {"quantized_decomposed::dequantize_per_channel.default(Tensor input, Tensor scales, Tensor? "
                     "zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? "
                     "out_dtype=None)",
                     import_dequantize_channels}},
          .canonical = {"quantized_decomposed.dequantize_per_tensor(Tensor input, float scale, int zero_point, int "
                        "quant_min, int quant_max, ScalarType dtype)",
                        "quantized_decomposed.dequantize_per_channel(Tensor input)"},
          .infer = infer,
          .evaluate = evaluate_dequantize,
          .lower = lower};
}

}  // namespace cormorant::ops
