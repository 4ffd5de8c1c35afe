// SPDX-License-Identifier: Apache-2.0
//
// quantized_decomposed.quantize_per_tensor, which PT2E and our quantizer insert, and cortex_m.quantize_per_tensor.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/diagnostic.h"
#include "ops/host/quantization.h"
#include "ops/nodes.h"
#include "ops/op.h"
#include "ops/quantize/quantize.h"
#include "ops/quantize/reference.h"

namespace cormorant::ops {
namespace {

std::vector<ir::TensorType> infer(const ir::Node& node) {
  check_quantization(node);
  ir::TensorType type = node.tensor("input")->type;
  type.dtype = std::get<DType>(node.get("dtype"));
  type.quant = ir::QuantParams{.dtype = type.dtype,
                               .qmin = static_cast<std::int32_t>(node.integer("quant_min")),
                               .qmax = static_cast<std::int32_t>(node.integer("quant_max")),
                               .axis = std::nullopt,
                               .scales = {node.number("scale")},
                               .zero_points = {static_cast<std::int32_t>(node.integer("zero_point"))}};
  return {std::move(type)};
}

// Tensors of a quantized graph are the real numbers that their integers stand for: the result is rounded, not scaled.
std::vector<evaluate::Tensor> evaluate_quantize(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor& input = frame.get(node.tensor("input"));
  const double scale = node.number("scale");
  const auto inverse = static_cast<float>(1.0 / scale);
  const double zero_point = node.number("zero_point");
  const double low = node.number("quant_min") - zero_point;
  const double high = node.number("quant_max") - zero_point;
  std::vector<float> out(input.values().begin(), input.values().end());
  for (float& value : out) {
    const float rounded = std::nearbyint(value * inverse);
    value =
        std::isnan(rounded) ? 0.0F : static_cast<float>(scale * std::clamp(static_cast<double>(rounded), low, high));
  }
  return {evaluate::Tensor(input.shape, std::move(out))};
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const auto dtype = std::get<DType>(node.get("dtype"));
  const auto scale = static_cast<float>(node.number("scale"));
  if (!is_quantized_dtype(dtype) || !is_supported_scale(std::bit_cast<std::uint32_t>(scale))) {
    throw InputError({.problem = std::string("cannot quantize to ") + name_of(dtype) + " with this scale",
                      .advice = "int8 and int16 with a scale between 2^-100 and 2^100 are supported",
                      .node = node.name,
                      .source = node.location.text()});
  }
  return rewriter
      .emit(QuantizePerTensor<HostWorld>{.input = node.tensor("input"),
                                         .scale = node.number("scale"),
                                         .zero_point = node.integer("zero_point"),
                                         .quant_min = node.integer("quant_min"),
                                         .quant_max = node.integer("quant_max"),
                                         .dtype = dtype},
            node.result()->type, names::cortex_m_quantize_per_tensor_out)
      ->result();
}

// Elements are taken in order, and each takes a quarter of the bytes that it was read from. (int16 would do as well,
// but C++ does not allow writing an int16 over a float.)
std::optional<std::uint64_t> overlap(const ir::Node& node, std::string_view argument) {
  if (argument != "input" || node.result()->type.dtype != DType::i8) return std::nullopt;
  return 0;
}

}  // namespace

Operator quantize_operator() {
  return {.name = "quantize",
          .canonical = {"quantized_decomposed.quantize_per_tensor(Tensor input, float scale, int zero_point, int "
                        "quant_min, int quant_max, ScalarType dtype)"},
          .infer = infer,
          .evaluate = evaluate_quantize,
          .lower = lower,
          .overlap = overlap};
}

}  // namespace cormorant::ops
