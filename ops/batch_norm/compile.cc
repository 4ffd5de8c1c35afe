// SPDX-License-Identifier: Apache-2.0
//
// aten.batch_norm(input, weight, bias, running_mean, running_var, eps) with fixed statistics: one factor and one term
// per channel. A pass folds it into the convolution or linear layer before it, or turns it into a convolution; one with
// statistics that are not constant stays in float.
#include <cmath>

#include "base/diagnostic.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/host/build.h"
#include "ops/host/references.h"
#include "ops/nodes.h"

namespace cormorant::ops {
namespace {

ir::Node* make_batch_norm(Importer& importer, std::vector<ir::TensorType> types) {
  const ir::Node& call = *importer.call;
  if (!call.has("running_mean") || !call.has("running_var")) {
    importer.reject("batch norm without running statistics",
                    "use track_running_stats=True, and train before exporting in eval mode");
  }
  return importer.node(nodes::aten_batch_norm,
                       {{"input", call.get("input")},
                        {"weight", call.get("weight")},
                        {"bias", call.get("bias")},
                        {"running_mean", call.get("running_mean")},
                        {"running_var", call.get("running_var")},
                        {"eps", call.number("eps")}},
                       std::move(types));
}

void check_inference(Importer& importer) {
  if (importer.call->boolean("training")) {
    importer.reject("batch norm in training mode", "call model.eval() before torch.export");
  }
}

std::vector<ir::Value*> import_batch_norm(Importer& importer) {
  check_inference(importer);
  return make_batch_norm(importer, {})->results;
}

// With the batch's own statistics, which the core form returns as well: what a model exported without eval() does.
std::vector<ir::Value*> by_own_statistics(Importer& importer) {
  const Build b(importer);
  V x = b.tensor("input");
  const std::int64_t channels = size_at(x, 1);
  Dims others = all_dims(x->type.rank());
  others.erase(others.begin() + 1);
  ir::Shape beside(x->type.rank(), 1);
  beside[1] = channels;
  V mean = b.mean(x, others);
  V distance = b.sub(x, mean);
  V deviation = b.f("rsqrt", b.add(b.mean(b.mul(distance, distance), others), b.call().number("eps")));
  V result = b.mul(distance, deviation);
  if (b.given("weight")) result = b.mul(result, b.view(b.tensor("weight"), beside));
  if (b.given("bias")) result = b.add(result, b.view(b.tensor("bias"), beside));
  return {b.finish(result), b.finish(mean, 1), b.finish(deviation, 2)};
}

// The core forms also return statistics, which are empty at inference and never read.
std::vector<ir::Value*> import_native(Importer& importer) {
  if (importer.call->has("training") && importer.call->boolean("training")) {
    if (importer.types.size() == 3 && importer.call->op == "aten.native_batch_norm.default") {
      return by_own_statistics(importer);
    }
    check_inference(importer);
  }
  return {make_batch_norm(importer, {importer.types.at(0)})->result(), nullptr, nullptr};
}
std::vector<ir::Value*> import_no_update(Importer& importer) {
  return {make_batch_norm(importer, {importer.types.at(0)})->result(), nullptr, nullptr, nullptr};
}

std::vector<ir::TensorType> infer(const ir::Node& node) {
  const ir::TensorType& input = node.tensor("input")->type;
  for (const char* name : {"weight", "bias", "running_mean", "running_var"}) {
    const ir::Value* value = node.tensor(name);
    if (value == nullptr || (input.rank() >= 2 && value->type.elements() == input.shape[1])) continue;
    throw InputError({.problem = std::string("batch norm's ") + name + " does not have one entry per channel",
                      .advice = {},
                      .node = node.name,
                      .source = node.location.text()});
  }
  return {input};
}

std::vector<evaluate::Tensor> evaluate_batch_norm(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor& input = frame.get(node.tensor("input"));
  const auto channel_values = [&](const char* name, float fallback) {
    const ir::Value* value = node.tensor(name);
    const auto channels = static_cast<std::size_t>(input.shape.at(1));
    if (value == nullptr) return std::vector<float>(channels, fallback);
    const auto values = frame.get(value).values();
    return std::vector<float>(values.begin(), values.end());
  };
  const std::vector<float> weight = channel_values("weight", 1.0F);
  const std::vector<float> bias = channel_values("bias", 0.0F);
  const std::vector<float> mean = channel_values("running_mean", 0.0F);
  const std::vector<float> variance = channel_values("running_var", 1.0F);
  const double eps = node.number("eps");
  std::vector<float> out(input.values().begin(), input.values().end());
  const std::size_t channels = weight.size();
  const std::size_t inner = out.size() / (static_cast<std::size_t>(input.shape[0]) * channels);
  for (std::size_t block = 0; block * inner < out.size(); ++block) {
    const std::size_t c = block % channels;
    const double factor = weight[c] / std::sqrt(variance[c] + eps);
    const double term = bias[c] - mean[c] * factor;
    for (std::size_t i = block * inner; i < (block + 1) * inner; ++i) {
      out[i] = static_cast<float>(out[i] * factor + term);
    }
  }
  return {evaluate::Tensor(input.shape, std::move(out))};
}

QuantRule quantize(const ir::Node&) {
  return {.output = QuantRule::Reject{"a batch norm with statistics that are not constant"}, .weights = {}};
}

}  // namespace

Operator batch_norm_operator() {
  return {.name = "batch_norm",
          .forms = {{"batch_norm.default(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
                     "Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled)",
                     import_batch_norm},
                    {"_native_batch_norm_legit_no_training.default(Tensor input, Tensor? weight, Tensor? bias, "
                     "Tensor running_mean, Tensor running_var, float momentum, float eps)",
                     import_native},
                    {"native_batch_norm.default(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
                     "Tensor? running_var, bool training, float momentum, float eps)",
                     import_native},
                    {"_native_batch_norm_legit.default(Tensor input, Tensor? weight, Tensor? bias, "
                     "Tensor running_mean, Tensor running_var, bool training, float momentum, float eps)",
                     import_native},
                    {"_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, "
                     "float momentum, float eps)",
                     import_native},
                    {"_batch_norm_no_update.default(Tensor input, Tensor? weight, Tensor? bias, "
                     "Tensor? running_mean, Tensor? running_var, float momentum, float eps)",
                     import_no_update}},
          .canonical = {"aten.batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor "
                        "running_var, float eps)"},
          .infer = infer,
          .evaluate = evaluate_batch_norm,
          .quantize = quantize};
}

CORMORANT_REFERENCES(batch_norm, CORMORANT_BATCH_NORM_KERNELS)

}  // namespace cormorant::ops
