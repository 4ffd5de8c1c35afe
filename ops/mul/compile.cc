// SPDX-License-Identifier: Apache-2.0
//
// aten.mul(self, other), from PyTorch's forms down to cortex_m.quantized_mul.
#include <algorithm>
#include <cmath>

#include "ops/host/broadcast.h"
#include "ops/host/multiplier.h"
#include "ops/host/words.h"
#include "ops/minimum_maximum/minimum_maximum.h"
#include "ops/mul/mul.h"
#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace mul {
namespace {

constexpr const char* kCanonical = nodes::aten_mul;

std::vector<ir::Value*> import_mul(Importer& importer) {
  ir::Value* self = operand_of(importer, "self");
  return importer.node(kCanonical, {{"self", self}, {"other", operand_of(importer, "other")}})->results;
}

std::vector<evaluate::Tensor> evaluate_mul(const ir::Node& node, const evaluate::Frame& frame) {
  evaluate::Tensor product = evaluate_broadcast(frame.get(node.tensor("self")), frame.get(node.tensor("other")),
                                                [](float x, float y) { return x * y; });
  return {evaluate::with_activation(node, std::move(product))};
}

QuantRule quantize(const ir::Node& node) {
  return quantize_broadcast(node,
                            {.output = QuantRule::Observe{}, .weights = {}, .precisions = precisions::w8a8_w8a16()});
}

double largest_difference(const ir::QuantParams& q) {
  return std::max(std::abs(q.qmin - q.zero_point()), std::abs(q.qmax - q.zero_point()));
}

// ExecuTorch's product clamps to int8 only: tighter bounds are a comparison with one element each.
ir::Value* clamp_for_executorch(const Rewriter& rewriter, ir::Value* product, Levels levels) {
  const ir::TensorType& type = product->type;
  const auto bound = [&](const char* name, std::int32_t level) {
    const std::int8_t data[] = {static_cast<std::int8_t>(level)};
    return rewriter.constant(name, ir::quantized_type(ir::Shape(type.rank(), 1), *type.quant),
                             std::span<const std::int8_t>(data));
  };
  using Call = minimum_maximum::MinimumMaximum<HostWorld>;
  if (levels.low > -128) {
    const Call call{.self = product, .other = bound("low", levels.low)};
    product = rewriter.emit(call, type, names::cortex_m_maximum_out)->result();
  }
  if (levels.high < 127) {
    const Call call{.self = product, .other = bound("high", levels.high)};
    product = rewriter.emit(call, type, names::cortex_m_minimum_out)->result();
  }
  return product;
}

ir::Value* lower_words(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const Operands operands = broadcast_operands(rewriter, ExecutorchBroadcast::none);
  const std::optional<std::int32_t> factor = high_factor(
      operands.self->type.quant->scale() * operands.other->type.quant->scale() / node.result()->type.quant->scale());
  if (!factor) {
    refuse(node, "the product's scale is too small for its factors' scales", "calibrate with representative data");
  }
  const Levels levels = activation_levels(node);
  WordsMul<HostWorld> call{.self = operands.self, .other = operands.other};
  call.factor = *factor;
  call.activation_min = levels.low;
  call.activation_max = levels.high;
  return rewriter.emit(call, node.result()->type, names::cormorant_mul_words)->result();
}

ir::Value* lower(const Rewriter& rewriter) {
  if (has_words(rewriter.node)) return lower_words(rewriter);
  const ir::Node& node = rewriter.node;
  const Operands operands = broadcast_operands(rewriter, ExecutorchBroadcast::channels);
  const ir::QuantParams& self = operands.self->type.quant.value();
  const ir::QuantParams& other = operands.other->type.quant.value();
  const ir::QuantParams& output = node.result()->type.quant.value();
  const Multiplier factor = quantize_multiplier(self.scale() * other.scale() / output.scale());
  // A factor above 1 shifts the product to the left, in 32 bits.
  const double largest = largest_difference(self) * largest_difference(other);
  if (std::ldexp(largest, std::max(factor.shift, 0)) >= std::ldexp(1.0, 31)) {
    refuse(node, "the product's scale is too small for its factors' scales", "calibrate with representative data");
  }
  const auto fill = [&](auto call) {
    call.self = operands.self;
    call.self_zero_point = self.zero_point();
    call.other = operands.other;
    call.other_zero_point = other.zero_point();
    call.output_zero_point = output.zero_point();
    call.output_multiplier = factor.multiplier;
    call.output_shift = factor.shift;
    return call;
  };
  const Levels levels = activation_levels(node);
  const bool is_plain = levels.low == -128 && levels.high == 127;
  if (is_plain || rewriter.config.runtime == Runtime::executorch) {
    ir::Value* product =
        rewriter.emit(fill(QuantizedMul<HostWorld>{}), node.result()->type, names::cortex_m_quantized_mul_out)
            ->result();
    return clamp_for_executorch(rewriter, product, levels);
  }
  auto clamped = fill(ClampedMul<HostWorld>{});
  clamped.activation_min = levels.low;
  clamped.activation_max = levels.high;
  return rewriter.emit(clamped, node.result()->type, mul_variant(rewriter.config.target))->result();
}

}  // namespace
}  // namespace mul

Operator mul_operator() {
  using namespace mul;  // NOLINT(google-build-using-namespace)
  return {.name = "mul",
          .executorch_repeats = MemoryOrder::channels_last,  // one number per channel, along memory
          .elementwise = true,
          .forms = {{"mul.Tensor(Tensor self, Tensor other)", import_mul},
                    {"mul_.Tensor(Tensor(a!) self, Tensor other)", import_mul},
                    {"mul.Scalar(Tensor self, Scalar other)", import_mul},
                    {"mul_.Scalar(Tensor(a!) self, Scalar other)", import_mul},
                    {"multiply.Tensor(Tensor self, Tensor other)", import_mul},
                    {"multiply_.Tensor(Tensor(a!) self, Tensor other)", import_mul},
                    {"multiply.Scalar(Tensor self, Scalar other)", import_mul},
                    {"multiply_.Scalar(Tensor(a!) self, Scalar other)", import_mul}},
          .canonical = {"aten.mul(Tensor self, Tensor other)"},
          .infer = infer_broadcast,
          .evaluate = evaluate_mul,
          .quantize = quantize,
          .fuses_activation = true,
          .lower = lower,
          .in_place = takes_place_of};
}

}  // namespace cormorant::ops
