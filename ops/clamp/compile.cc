// SPDX-License-Identifier: Apache-2.0
//
// aten.clamp(self, min, max), bounds as floats or None: relu and all its relatives. A pass moves most of them into the
// operator before; what is left is a byte-wise clamp. For ExecuTorch that is its portable operator, of the same name,
// with integers as bounds.
#include <algorithm>
#include <limits>
#include <optional>

#include "base/diagnostic.h"
#include "ops/clamp/clamp.h"
#include "ops/clamp/float.h"
#include "ops/host/multiplier.h"
#include "ops/host/words.h"
#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

std::vector<ir::Value*> make_clamp(Importer& importer, ir::Argument min, ir::Argument max) {
  ir::Value* self = importer.call->tensor("self");
  return importer.node(nodes::aten_clamp, {{"self", self}, {"min", std::move(min)}, {"max", std::move(max)}})->results;
}

ir::Argument bound(const ir::Node& call, const char* name) {
  return call.has(name) ? ir::Argument{call.number(name)} : ir::Argument{};
}

std::vector<ir::Value*> import_relu(Importer& importer) { return make_clamp(importer, 0.0, {}); }
std::vector<ir::Value*> import_relu6(Importer& importer) { return make_clamp(importer, 0.0, 6.0); }
std::vector<ir::Value*> import_hardtanh(Importer& importer) {
  return make_clamp(importer, bound(*importer.call, "min_val"), bound(*importer.call, "max_val"));
}
std::vector<ir::Value*> import_clamp(Importer& importer) {
  return make_clamp(importer, bound(*importer.call, "min"), bound(*importer.call, "max"));
}
std::vector<ir::Value*> import_clamp_min(Importer& importer) {
  return make_clamp(importer, bound(*importer.call, "min"), {});
}
std::vector<ir::Value*> import_clamp_max(Importer& importer) {
  return make_clamp(importer, {}, bound(*importer.call, "max"));
}

// A minimum of a maximum; if a bound is one number, a pass finds the clamp in it.
std::vector<ir::Value*> import_clamp_tensors(Importer& importer) {
  const ir::Node& call = *importer.call;
  ir::Value* value = call.tensor("self");
  if (call.has("min"))
    value = importer.node(nodes::aten_maximum, {{"self", value}, {"other", call.tensor("min")}})->result();
  if (call.has("max"))
    value = importer.node(nodes::aten_minimum, {{"self", value}, {"other", call.tensor("max")}})->result();
  return {value};
}

// Where the bounds cross, PyTorch's maximum wins.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

Bounds bounds_of(const ir::Node& node) {
  Bounds bounds;
  if (node.has("min")) bounds.low = node.number("min");
  if (node.has("max")) bounds.high = node.number("max");
  bounds.low = std::min(bounds.low, bounds.high);
  return bounds;
}

std::vector<ir::TensorType> infer(const ir::Node& node) { return {node.tensor("self")->type}; }

std::vector<evaluate::Tensor> evaluate_clamp(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor& input = frame.get(node.tensor("self"));
  const Bounds bounds = bounds_of(node);
  const auto low = static_cast<float>(bounds.low);
  const auto high = static_cast<float>(bounds.high);
  std::vector<float> out(input.values().begin(), input.values().end());
  for (float& value : out) value = std::clamp(value, low, high);
  return {evaluate::Tensor(input.shape, std::move(out))};
}

QuantRule quantize(const ir::Node&) {
  return {.output = QuantRule::Share{}, .weights = {}, .precisions = precisions::w8a8_w8a16()};
}

// Lowered already, in a graph that comes in as the text of a later stage.
bool has_integer_bounds(const ir::Node& node) {
  return node.has("min") && std::holds_alternative<std::int64_t>(node.get("min"));
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  if (has_integer_bounds(node)) return nullptr;
  const ir::QuantParams& quant = node.result()->type.quant.value();
  const auto reject = [&](std::string problem, std::string advice) {
    throw InputError({.problem = std::move(problem),
                      .advice = std::move(advice),
                      .node = node.name,
                      .source = node.location.text()});
  };
  if (has_words(node)) require_words(rewriter, {"self"});
  if (node.tensor("self")->type.quant != quant || (quant.dtype != DType::i8 && !has_words(node))) {
    reject("a clamp between tensors with different quantization parameters",
           "quantize the model so that input and output of the clamp share them");
  }
  const Bounds bounds = bounds_of(node);
  const auto integer = [&](double value) -> std::int64_t {
    return quantize_value(value, quant.scale(), quant.zero_point(), quant.qmin, quant.qmax);
  };
  if (rewriter.config.runtime == Runtime::executorch) {
    ir::Node* portable =
        rewriter.emit(FloatClamp<HostWorld>{.self = node.tensor("self")}, node.result()->type, names::aten_clamp_out);
    portable->set("min", integer(bounds.low));
    portable->set("max", integer(bounds.high));
    return portable->result();
  }
  return rewriter
      .emit(Clamp<HostWorld>{.input = node.tensor("self"), .min = integer(bounds.low), .max = integer(bounds.high)},
            node.result()->type, has_words(node) ? names::cormorant_clamp_words : clamp_variant(rewriter.config.target))
      ->result();
}

bool in_place(const ir::Node&, std::string_view argument) { return argument == "input" || argument == "self"; }

bool channelwise(const ir::Node& node) {
  const Bounds bounds = bounds_of(node);
  return bounds.low <= 0 && bounds.high >= 0;
}

}  // namespace

Operator clamp_operator() {
  return {.name = "clamp",
          .elementwise = true,
          .forms = {{"relu.default(Tensor self)", import_relu},
                    {"relu_.default(Tensor self)", import_relu},
                    {"relu6.default(Tensor self)", import_relu6},
                    {"relu6_.default(Tensor self)", import_relu6},
                    {"hardtanh.default(Tensor self, Scalar min_val=-1, Scalar max_val=1)", import_hardtanh},
                    {"hardtanh_.default(Tensor self, Scalar min_val=-1, Scalar max_val=1)", import_hardtanh},
                    {"clamp.default(Tensor self, Scalar? min=None, Scalar? max=None)", import_clamp},
                    {"clamp_.default(Tensor self, Scalar? min=None, Scalar? max=None)", import_clamp},
                    {"clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None)", import_clamp_tensors},
                    {"clamp_.Tensor(Tensor(a!) self, Tensor? min=None, Tensor? max=None)", import_clamp_tensors},
                    {"clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None)", import_clamp_tensors},
                    {"clip.default(Tensor self, Scalar? min=None, Scalar? max=None)", import_clamp},
                    {"clip_.default(Tensor self, Scalar? min=None, Scalar? max=None)", import_clamp},
                    {"clamp_min.default(Tensor self, Scalar min)", import_clamp_min},
                    {"clamp_min_.default(Tensor self, Scalar min)", import_clamp_min},
                    {"clamp_max.default(Tensor self, Scalar max)", import_clamp_max},
                    {"clamp_max_.default(Tensor self, Scalar max)", import_clamp_max}},
          .canonical = {"aten.clamp(Tensor self, float? min, float? max)"},
          .infer = infer,
          .evaluate = evaluate_clamp,
          .quantize = quantize,
          .lower = lower,
          .in_place = in_place,
          .channelwise = channelwise};
}

}  // namespace cormorant::ops
