// SPDX-License-Identifier: Apache-2.0
//
// cormorant.flip_sign(self): int8 as the same numbers in uint8, or vice versa. No model has it: passes/take_uint8.cc
// puts it at the program's inputs and outputs.
#include "base/diagnostic.h"
#include "ops/flip_sign/flip_sign.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

constexpr std::int32_t kDistance = 128;  // of the zero points

std::vector<ir::TensorType> infer(const ir::Node& node) {
  ir::TensorType type = node.tensor("self")->type;
  // A model's own bytes stand for themselves.
  if (type.dtype == DType::u8 && !type.quant) type.quant = {DType::u8, 0, 255, std::nullopt, {1.0}, {0}};
  const bool is_byte = type.quant && !type.quant->per_channel() && (type.dtype == DType::i8 || type.dtype == DType::u8);
  if (!is_byte) {
    throw InputError({.problem = "only quantized int8 or uint8 tensors have a sign to flip",
                      .advice = "use a text written by --intermediates",
                      .node = node.name,
                      .source = node.location.text()});
  }
  const std::int32_t shift = type.dtype == DType::i8 ? kDistance : -kDistance;
  type.dtype = type.quant->dtype = type.dtype == DType::i8 ? DType::u8 : DType::i8;
  type.quant->qmin += shift;
  type.quant->qmax += shift;
  type.quant->zero_points.front() += shift;
  return {std::move(type)};
}

std::vector<evaluate::Tensor> evaluate_flip_sign(const ir::Node& node, const evaluate::Frame& frame) {
  return {frame.get(node.tensor("self"))};
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  return rewriter
      .emit(FlipSign<HostWorld>{.input = node.tensor("self")}, node.result()->type,
            flip_sign_variant(rewriter.config.target))
      ->result();
}

bool in_place(const ir::Node&, std::string_view argument) { return argument == "input" || argument == "self"; }

}  // namespace

Operator flip_sign_operator() {
  return {.name = "flip_sign",
          .elementwise = true,
          .canonical = {"cormorant.flip_sign(Tensor self)"},
          .infer = infer,
          .evaluate = evaluate_flip_sign,
          .lower = lower,
          .in_place = in_place};
}

}  // namespace cormorant::ops
