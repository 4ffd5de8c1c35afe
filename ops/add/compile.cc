// SPDX-License-Identifier: Apache-2.0
//
// aten.add(self, other, alpha), which subtractions are too, from PyTorch's forms down to cortex_m.quantized_add.
#include <algorithm>
#include <cmath>

#include "ops/add/add.h"
#include "ops/add/float.h"
#include "ops/add/prepack.h"
#include "ops/add/reference.h"
#include "ops/host/broadcast.h"
#include "ops/host/multiplier.h"
#include "ops/host/words.h"
#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace add {
namespace {

constexpr const char* kCanonical = nodes::aten_add;

ir::Value* make_add(Importer& importer, ir::Value* self, ir::Value* other, double alpha) {
  return importer.node(kCanonical, {{"self", self}, {"other", other}, {"alpha", alpha}})->result();
}

// self + factor · alpha · other. If other is a number, it absorbs the factors.
ir::Value* import_sum(Importer& importer, const char* self, const char* other, double factor) {
  const double alpha = factor * importer.call->number("alpha");
  if (std::holds_alternative<ir::Value*>(importer.call->get(other)))
    return make_add(importer, operand_of(importer, self), importer.call->tensor(other), alpha);
  ir::Value* constant = number_constant(importer, other, importer.call->number(other) * alpha);
  return make_add(importer, operand_of(importer, self), constant, 1.0);
}

std::vector<ir::Value*> import_add(Importer& importer) { return {import_sum(importer, "self", "other", 1)}; }
std::vector<ir::Value*> import_sub(Importer& importer) { return {import_sum(importer, "self", "other", -1)}; }
// other − alpha · self
std::vector<ir::Value*> import_rsub(Importer& importer) { return {import_sum(importer, "other", "self", -1)}; }

std::vector<evaluate::Tensor> evaluate_add(const ir::Node& node, const evaluate::Frame& frame) {
  const auto alpha = static_cast<float>(node.number("alpha"));
  evaluate::Tensor sum = evaluate_broadcast(frame.get(node.tensor("self")), frame.get(node.tensor("other")),
                                            [&](float x, float y) { return x + alpha * y; });
  return {evaluate::with_activation(node, std::move(sum))};
}

// ---- quantization and lowering --------------------------------------------------------------------------------------

QuantRule quantize(const ir::Node& node) {
  return quantize_broadcast(node,
                            {.output = QuantRule::Observe{}, .weights = {}, .precisions = precisions::w8a8_w8a16()});
}

// A rescaling of the sum to the left is done in 32 bits: the largest sum must survive it.
void check_overflow(const ir::Node& node, const ir::QuantParams& self, const ir::QuantParams& other,
                    double other_factor, double common, std::int32_t shift) {
  double largest = 0;
  for (const std::int32_t x : {self.qmin, self.qmax}) {
    for (const std::int32_t y : {other.qmin, other.qmax}) {
      const double sum = (x - self.zero_point()) * self.scale() + (y - other.zero_point()) * other_factor;
      largest = std::max(largest, std::ldexp(std::abs(sum) / common, kLeftShift));
    }
  }
  if (std::ldexp(largest, std::max(shift, 0)) >= std::ldexp(1.0, 31)) {
    refuse(node, "the sum's scale is too small for its operands' scales: they nearly cancel in the calibration data",
           "calibrate with representative data");
  }
}

// The largest shift for which the factors' sums fit 32 bits.
ir::Value* lower_words(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const Operands operands = broadcast_operands(rewriter, ExecutorchBroadcast::none);
  const double output = node.result()->type.quant->scale();
  const double self = operands.self->type.quant->scale() / output;
  const double other = operands.other->type.quant->scale() * node.number("alpha") / output;
  const auto factors_for = [&](int shift) -> Factors {
    const auto level = [&](double x) { return static_cast<std::int32_t>(std::lround(std::ldexp(x, shift))); };
    return {level(self), level(other), 1 << (shift - 1), shift};
  };
  constexpr int kLargestShift = 24;
  for (int shift = kLargestShift; shift >= 1; --shift) {
    if (std::ldexp(std::max(std::abs(self), std::abs(other)), shift) >= std::ldexp(1.0, 24)) continue;
    const Factors factors = factors_for(shift);
    if (!is_valid_for_words(factors)) continue;
    const Levels levels = activation_levels(node);
    FactorAdd<HostWorld> call{.self = operands.self, .other = operands.other};
    call.self_factor = factors.self;
    call.other_factor = factors.other;
    call.offset = factors.offset;
    call.shift = factors.shift;
    call.activation_min = levels.low;
    call.activation_max = levels.high;
    const bool mve = !rewriter.config.target.is_any() && rewriter.config.target.isa == Isa::mve;
    return rewriter.emit(call, node.result()->type, mve ? names::cormorant_add_mve_words : names::cormorant_add_words)
        ->result();
  }
  refuse(node, "the sum's scale is too small for its operands' scales: they nearly cancel in the calibration data",
         "calibrate with representative data");
}

ir::Value* lower(const Rewriter& rewriter) {
  if (has_words(rewriter.node)) return lower_words(rewriter);
  const ir::Node& node = rewriter.node;
  const Operands operands = broadcast_operands(rewriter, ExecutorchBroadcast::channels);
  const ir::QuantParams& self_q = operands.self->type.quant.value();
  const ir::QuantParams& other_q = operands.other->type.quant.value();
  const ir::QuantParams& output_q = node.result()->type.quant.value();
  const double alpha = node.number("alpha");
  const double other_scale = other_q.scale() * std::abs(alpha);
  const double common = 2 * std::max(self_q.scale(), other_scale);
  const Multiplier self = quantize_multiplier(self_q.scale() / common);
  const Multiplier other = quantize_multiplier(other_scale / common);
  const Multiplier output = quantize_multiplier(common / (output_q.scale() * (1 << kLeftShift)));
  check_overflow(node, self_q, other_q, other_q.scale() * alpha, common, output.shift);

  QuantizedAdd<HostWorld> call{.self = operands.self};
  call.self_zero_point = self_q.zero_point();
  call.self_multiplier = self.multiplier;
  call.self_shift = self.shift;
  call.other = operands.other;
  call.other_zero_point = other_q.zero_point();
  call.other_multiplier = alpha < 0 ? -other.multiplier : other.multiplier;
  call.other_shift = other.shift;
  call.output_zero_point = output_q.zero_point();
  call.output_multiplier = output.multiplier;
  call.output_shift = output.shift;
  const Levels levels = activation_levels(node);
  call.activation_min = levels.low;
  call.activation_max = levels.high;
  return rewriter.emit(call, node.result()->type, names::cortex_m_quantized_add_out)->result();
}

// ExecuTorch 1.5.1's fast kernel of add swaps the operands if the first is a single number, but not their factors. Its
// kernel of sub does not.
ir::Value* lower_float(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const double alpha = node.number("alpha");
  const bool is_sub = rewriter.config.runtime == Runtime::executorch && alpha != 1;
  return rewriter
      .emit(
          FloatAdd<HostWorld>{
              .self = node.tensor("self"), .other = node.tensor("other"), .alpha = {is_sub ? -alpha : alpha}},
          node.result()->type, is_sub ? names::aten_sub_out : names::aten_add_out)
      ->result();
}

}  // namespace
}  // namespace add

Operator add_operator() {
  return {.name = "add",
          .executorch_repeats = MemoryOrder::channels_last,  // one number per channel, along memory
          .elementwise = true,
          .forms = {{"add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)", add::import_add},
                    {"add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1)", add::import_add},
                    {"add.Scalar(Tensor self, Scalar other, Scalar alpha=1)", add::import_add},
                    {"add_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1)", add::import_add},
                    {"sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)", add::import_sub},
                    {"sub_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1)", add::import_sub},
                    {"sub.Scalar(Tensor self, Scalar other, Scalar alpha=1)", add::import_sub},
                    {"sub_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1)", add::import_sub},
                    {"subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)", add::import_sub},
                    {"subtract_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1)", add::import_sub},
                    {"subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1)", add::import_sub},
                    {"subtract_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1)", add::import_sub},
                    {"rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)", add::import_rsub},
                    {"rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1)", add::import_rsub}},
          .canonical = {"aten.add(Tensor self, Tensor other, float alpha)"},
          .infer = infer_broadcast,
          .evaluate = add::evaluate_add,
          .quantize = add::quantize,
          .fuses_activation = true,
          .lower = add::lower,
          .lower_float = add::lower_float,
          .prepack = add::prepack,
          .in_place = takes_place_of};
}

}  // namespace cormorant::ops
