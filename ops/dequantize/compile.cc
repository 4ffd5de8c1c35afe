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

std::vector<ir::TensorType> infer(const ir::Node& node) {
  if (node.op == kCanonical) check_quantization(node);
  ir::TensorType type = node.tensor("input")->type;
  type.dtype = DType::f32;
  type.quant.reset();
  return {std::move(type)};
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
          .canonical = {"quantized_decomposed.dequantize_per_tensor(Tensor input, float scale, int zero_point, int "
                        "quant_min, int quant_max, ScalarType dtype)",
                        "quantized_decomposed.dequantize_per_channel(Tensor input)"},
          .infer = infer,
          .evaluate = evaluate_dequantize,
          .lower = lower};
}

}  // namespace cormorant::ops
