// SPDX-License-Identifier: Apache-2.0
//
// cormorant.taps.float(self, dim, places, weights).
#include <algorithm>
#include <cmath>

#include "ops/host/build.h"
#include "ops/host/evaluate_planned.h"
#include "ops/host/references.h"
#include "ops/taps/kernel.h"

namespace cormorant::ops {
namespace taps {
namespace {

std::vector<ir::TensorType> infer(const ir::Node& node) {
  ir::TensorType type = node.tensor("self")->type;
  type.dim_order.clear();
  const std::int64_t dim = node.integer("dim");
  const ir::Shape& places = node.tensor("places")->type.shape;
  require(node,
          type.rank() != 0 && has_dim(type, dim) && places.size() == 2 && size_at(node.tensor("self"), dim) != 0 &&
              places == node.tensor("weights")->type.shape && is_integer(node.tensor("places")->type.dtype),
          "a table of positions does not match the tensor");
  type.shape[static_cast<std::size_t>(dim)] = places[0];
  return {std::move(type)};
}

std::vector<evaluate::Tensor> evaluate_taps(const ir::Node& node, const evaluate::Frame& frame) {
  return evaluate_planned<Taps, Plan, plan_taps, execute_taps>(node, frame);
}

std::vector<float> weights_of(const ir::Node& node) {
  const evaluate::Tensor weights = evaluate::constant_tensor(*node.tensor("weights"));
  return {weights.values().begin(), weights.values().end()};
}

QuantRule quantize(const ir::Node& node) {
  constexpr float kMost = 1.5F, kNear = 1e-3F;
  const auto reject = [](const char* reason) { return QuantRule{.output = QuantRule::Reject{reason}, .weights = {}}; };
  const ir::Value* table = node.tensor("weights");
  if (table->kind != ir::ValueKind::constant || node.tensor("places")->kind != ir::ValueKind::constant) {
    return reject("its table of positions is not constant");
  }
  const std::vector<float> weights = weights_of(node);
  const auto taps = static_cast<std::size_t>(table->type.shape[1]);
  for (std::size_t at = 0; taps != 0 && at < weights.size(); at += taps) {
    float sum = 0;
    for (std::size_t t = 0; t < taps; ++t) {
      sum += weights[at + t];
      if (!(std::abs(weights[at + t]) <= kMost)) return reject("its weights do not fit the int8 kernel");
    }
    if (!(std::abs(sum - 1) < kNear)) return reject("its weights do not add up to 1");
  }
  return {.output = QuantRule::Share{}, .weights = {}, .kept_real = {"weights"}};
}

// Rounded so that they still add up to 1 and each is off by less than a step, even if thousands share it.
std::vector<std::int16_t> integer_weights(const ir::Node& node) {
  const std::vector<float> real = weights_of(node);
  const auto taps = static_cast<std::size_t>(node.tensor("weights")->type.shape[1]);
  std::vector<std::int16_t> weights;
  for (std::size_t at = 0; taps != 0 && at < real.size(); at += taps) {
    double sum = 0;
    long before = 0;
    for (std::size_t t = 0; t < taps; ++t) {
      sum += static_cast<double>(real[at + t]);
      const long until = t + 1 == taps ? 1L << kWeightBits : std::lround(std::ldexp(sum, kWeightBits));
      weights.push_back(static_cast<std::int16_t>(until - before));
      before = until;
    }
  }
  return weights;
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  require(node, node.tensor("weights")->kind == ir::ValueKind::constant, "its table of weights is not constant");
  const std::vector<std::int16_t> weights = integer_weights(node);
  const ir::TensorType type{DType::i16, node.tensor("weights")->type.shape, {}, std::nullopt};
  return rewriter
      .emit(Taps<HostWorld>{.self = node.tensor("self"),
                            .dim = node.integer("dim"),
                            .places = node.tensor("places"),
                            .weights = rewriter.constant("weights", type, std::span<const std::int16_t>(weights))},
            node.result()->type, names::cormorant_taps_int8)
      ->result();
}

}  // namespace

CORMORANT_REFERENCES(taps, CORMORANT_TAPS_KERNELS)

}  // namespace taps

Operator taps_operator() {
  return {.name = "taps",
          .layout = MemoryOrder::channels_last,
          .canonical = {"cormorant.taps.float(Tensor self, int dim, Tensor places, Tensor weights)"},
          .infer = taps::infer,
          .evaluate = taps::evaluate_taps,
          .quantize = taps::quantize,
          .lower = taps::lower};
}

}  // namespace cormorant::ops
