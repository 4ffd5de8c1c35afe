// SPDX-License-Identifier: Apache-2.0
//
// aten.softmax(self, dim), dim not negative, from PyTorch's spellings down to cortex_m.softmax.
#include <algorithm>
#include <cmath>

#include "base/diagnostic.h"
#include "ops/multiplier.h"
#include "ops/op.h"
#include "ops/softmax/reference.h"
#include "ops/softmax/softmax.h"

namespace cormorant::ops {
namespace softmax {
namespace {

constexpr const char* kCanonical = "aten.softmax";

std::vector<ir::Value*> import_softmax(Importer& importer) {
  ir::Value* self = importer.call->tensor("self");
  const auto rank = static_cast<std::int64_t>(self->type.rank());
  const std::int64_t dim = importer.call->integer("dim");
  const std::int64_t wrapped = dim < 0 ? dim + rank : dim;
  if (wrapped < 0 || wrapped >= rank) {
    importer.reject("softmax over a dimension that its input does not have", "the model's export is inconsistent");
  }
  return importer.node(kCanonical, {{"self", self}, {"dim", wrapped}})->results;
}

std::vector<ir::TensorType> infer(const ir::Node& node) { return {ir::float_type(node.tensor("self")->type.shape)}; }

// The extents around a dimension: elements are (outer, size, inner) in logical order.
struct Extents {
  std::size_t outer = 1, size = 1, inner = 1;
};
Extents extents(const ir::Shape& shape, std::int64_t dim) {
  Extents e;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto n = static_cast<std::size_t>(shape[d]);
    const auto here = static_cast<std::size_t>(dim);
    (d < here ? e.outer : d == here ? e.size : e.inner) *= n;
  }
  return e;
}

std::vector<evaluate::Tensor> evaluate_softmax(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor& self = frame.get(node.tensor("self"));
  const Extents e = extents(self.shape, node.integer("dim"));
  std::vector<float> out(self.values().begin(), self.values().end());
  for (std::size_t o = 0; o < e.outer; ++o) {
    for (std::size_t i = 0; i < e.inner; ++i) {
      const auto at = [&](std::size_t k) -> float& { return out[(o * e.size + k) * e.inner + i]; };
      float largest = -INFINITY;
      for (std::size_t k = 0; k < e.size; ++k) largest = std::max(largest, at(k));
      float sum = 0;
      for (std::size_t k = 0; k < e.size; ++k) sum += at(k) = std::exp(at(k) - largest);
      for (std::size_t k = 0; k < e.size; ++k) at(k) /= sum;
    }
  }
  return {evaluate::Tensor(self.shape, std::move(out))};
}

QuantRule quantize(const ir::Node& node) {
  const ir::Shape& shape = node.tensor("self")->type.shape;
  const auto dim = static_cast<std::size_t>(node.integer("dim"));
  if (dim + 1 != shape.size()) {
    return {
        .output = QuantRule::Reject{"softmax is supported over the last dimension only; this one is over dimension " +
                                    std::to_string(dim) + " of " + std::to_string(shape.size())},
        .weights = {}};
  }
  if (shape[dim] > kMaxRow) {
    return {.output = QuantRule::Reject{"softmax is supported over at most " + std::to_string(kMaxRow) + " values"},
            .weights = {}};
  }
  return {.output = QuantRule::Fixed{kOutputScale, kOutputZeroPoint}, .weights = {}};
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const ir::QuantParams& input_q = node.tensor("self")->type.quant.value();
  const ir::QuantParams& output_q = node.result()->type.quant.value();
  const auto refuse = [&](std::string problem, std::string advice) {
    throw InputError({.problem = std::move(problem),
                      .advice = std::move(advice),
                      .node = node.name,
                      .source = node.location.text()});
  };
  if (input_q.dtype != DType::i8 || output_q.dtype != DType::i8 || output_q.zero_point() != kOutputZeroPoint ||
      std::abs(output_q.scale() - kOutputScale) > 1e-9) {
    refuse("softmax is supported only with int8 tensors and an output of scale 1/256 and zero point -128",
           "leave the quantization of softmax to this compiler");
  }
  // The largest factor makes every difference but 0 vanish, the smallest makes all exponents 0: both as they should.
  constexpr int kFractionBits = 31 - kInputIntegerBits;
  const double factor = std::clamp(std::ldexp(input_q.scale(), kFractionBits), 0.5, std::ldexp(1.0, 31) - 1);
  const Multiplier m = quantize_multiplier(factor);
  const double range = std::ldexp((1 << kInputIntegerBits) - 1, kFractionBits - m.shift);
  Softmax<HostWorld> call{.input = node.tensor("self"), .dim = node.integer("dim")};
  call.input_zero_point = input_q.zero_point();
  call.output_zero_point = kOutputZeroPoint;
  call.input_multiplier = m.multiplier;
  call.input_shift = m.shift;
  call.diff_min = -static_cast<std::int64_t>(std::floor(range));
  return rewriter.emit(call, node.result()->type)->result();
}

// A row's values are read for the last time just before the same places are written.
bool in_place(const ir::Node& /*node*/, std::string_view argument) { return argument == "input"; }

}  // namespace
}  // namespace softmax

Operator softmax_operator() {
  return {.name = "softmax",
          .layout = Layout::contiguous,
          .forms = {{"softmax.int(Tensor self, int dim, ScalarType? dtype=None)", softmax::import_softmax},
                    {"_softmax.default(Tensor self, int dim, bool half_to_float)", softmax::import_softmax}},
          .canonical = {softmax::kCanonical},
          .infer = softmax::infer,
          .evaluate = softmax::evaluate_softmax,
          .quantize = softmax::quantize,
          .lower = softmax::lower,
          .signatures = {signature_of<softmax::Softmax>()},
          .in_place = softmax::in_place,
          .host_kernels = {&softmax::kReference}};
}

}  // namespace cormorant::ops
