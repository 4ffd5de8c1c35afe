// SPDX-License-Identifier: Apache-2.0
//
// aten.prelu(self, weight), one slope per channel. With one slope for all it imports as aten.leaky_relu.
#include <algorithm>
#include <cmath>

#include "ops/host/advice.h"
#include "ops/host/broadcast.h"
#include "ops/nodes.h"
#include "ops/op.h"
#include "ops/prelu/prelu.h"

namespace cormorant::ops {
namespace prelu {
namespace {

constexpr const char* kCanonical = nodes::aten_prelu;

std::int64_t channels_of(const ir::Shape& shape) { return shape.size() < 2 ? 1 : shape[1]; }

std::vector<ir::Value*> import_prelu(Importer& importer) {
  const ir::Node& call = *importer.call;
  ir::Value* self = call.tensor("self");
  if (const auto slope = as_number(call, "weight"))
    return importer.node(nodes::aten_leaky_relu, {{"self", self}, {"negative_slope", *slope}})->results;
  ir::Value* weight = call.tensor("weight");
  if (weight->type.elements() == 1 && channels_of(self->type.shape) != 1) {  // one slope, which is computed
    const auto part = [&](const char* bound) {
      const char* other = std::string_view(bound) == "min" ? "max" : "min";
      return importer.node(nodes::aten_clamp, {{"self", self}, {bound, 0.0}, {other, ir::Argument{}}})->result();
    };
    ir::Value* below = importer.node(nodes::aten_mul, {{"self", part("max")}, {"other", weight}})->result();
    return importer.node(nodes::aten_add, {{"self", part("min")}, {"other", below}, {"alpha", 1.0}})->results;
  }
  return importer.node(kCanonical, {{"self", self}, {"weight", weight}})->results;
}

std::vector<ir::TensorType> infer(const ir::Node& node) {
  const ir::TensorType& type = node.tensor("self")->type;
  if (node.tensor("weight")->type.elements() != channels_of(type.shape))
    refuse(node, "the number of slopes differs from the number of channels", kInconsistent);
  return {ir::float_type(type.shape)};
}

std::vector<evaluate::Tensor> evaluate_prelu(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor& self = frame.get(node.tensor("self"));
  const auto slopes = frame.get(node.tensor("weight")).values();
  std::size_t area = 1;
  for (std::size_t d = 2; d < self.shape.size(); ++d) area *= static_cast<std::size_t>(self.shape[d]);
  std::vector<float> out(self.values().begin(), self.values().end());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] < 0) out[i] *= slopes[i / area % slopes.size()];
  }
  return {evaluate::with_activation(node, evaluate::Tensor(self.shape, std::move(out)))};
}

// Per channel, so that each slope is the last level of its own scale: nothing is rounded.
// With 16 bits it is a sum of products: passes/compose_words.cc.
QuantRule quantize(const ir::Node&) {
  return {.output = QuantRule::Observe{},
          .weights = {{.argument = "weight", .axis = 0}},
          .precisions = precisions::w8a8_w8a16()};
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  ir::Value* self = node.tensor("self");
  const ir::Value* weight = node.tensor("weight");
  const auto& input = self->type.quant;
  const ir::QuantParams& output = node.result()->type.quant.value();
  if (!input || input->dtype != DType::i8 || output.dtype != DType::i8)
    refuse(node, "prelu supports only int8 tensors", "quantize the model to int8");
  if (weight->kind != ir::ValueKind::constant)
    refuse(node, "its slopes are not constant", "make them a parameter of the model");
  if (rewriter.config.runtime == Runtime::executorch) {
    refuse(node, "prelu with a slope per channel has no Cortex-M operator in ExecuTorch",
           "compile for Cormorant's own runtime, or give the layer one slope (num_parameters=1)");
  }
  const double ratio = input->scale() / output.scale();
  std::vector<double> factors;
  double largest = ratio;
  const evaluate::Tensor slopes = evaluate::constant_tensor(*weight);
  for (const float slope : slopes.values()) {
    factors.push_back(ratio * static_cast<double>(slope));
    largest = std::max(largest, std::abs(factors.back()));
  }
  // The largest sum, zero point and rounding included, below 2^31.
  const int shift = std::min(22, std::ilogb(std::ldexp(1.0, 31) / (255 * largest + 130)));
  if (!std::isfinite(largest) || shift < 8) {
    refuse(node, "the output's scale is too small for the input's scale and the slopes",
           "calibrate with representative data");
  }
  const auto integer = [&](double factor) { return static_cast<std::int32_t>(std::lround(std::ldexp(factor, shift))); };
  std::vector<std::int32_t> integers;
  std::ranges::transform(factors, std::back_inserter(integers), integer);
  ir::Shape shape(self->type.rank(), 1);
  if (shape.size() >= 2) shape[1] = self->type.shape[1];
  const Levels levels = activation_levels(node);
  Prelu<HostWorld> call{.input = self};
  call.factors =
      rewriter.constant("factors", {DType::i32, shape, {}, std::nullopt}, std::span<const std::int32_t>(integers));
  call.positive_factor = integer(ratio);
  call.input_zero_point = input->zero_point();
  call.offset = (std::int64_t{output.zero_point()} << shift) + (std::int64_t{1} << (shift - 1));
  call.shift = shift;
  call.activation_min = levels.low;
  call.activation_max = levels.high;
  return rewriter.emit(call, node.result()->type, prelu_variant(rewriter.config.target))->result();
}

bool in_place(const ir::Node& node, std::string_view argument) {
  return argument != "factors" && takes_place_of(node, argument);
}

}  // namespace
}  // namespace prelu

Operator prelu_operator() {
  using namespace prelu;  // NOLINT(google-build-using-namespace)
  return {.name = "prelu",
          .forms = {{"prelu.default(Tensor self, Tensor weight)", import_prelu},
                    {"_prelu_kernel.default(Tensor self, Tensor weight)", import_prelu}},
          .canonical = {"aten.prelu(Tensor self, Tensor weight)"},
          .infer = infer,
          .evaluate = evaluate_prelu,
          .quantize = quantize,
          .fuses_activation = true,
          .lower = lower,
          .in_place = in_place,
          .by_others = precisions::w8a16()};
}

}  // namespace cormorant::ops
