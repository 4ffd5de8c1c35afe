// SPDX-License-Identifier: Apache-2.0
//
// aten.layer_norm(input, groups, channels, inner, weight, bias, eps, subtracts_mean): layer norm, group norm, instance
// norm and RMS norm; layer_norm.h says what it computes. γ and β are lists of numbers, not tensors: they are neither
// weights of a product nor activations, and only lowering turns them into integers.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/checked64.h"
#include "base/diagnostic.h"
#include "ops/host/advice.h"
#include "ops/host/build.h"
#include "ops/host/words.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace layer_norm {
namespace {

constexpr const char* kCanonical = "aten.layer_norm";

std::int64_t count(const std::vector<std::int64_t>& shape) { return ir::float_type(shape).elements(); }

// ---- import ---------------------------------------------------------------------------------------------------------

ir::Argument numbers(Importer& importer, const char* name, std::int64_t expected) {
  const ir::Value* value = importer.call->tensor(name);
  if (value == nullptr) return {};
  if (value->kind != ir::ValueKind::constant) {
    importer.reject(std::string("the ") + name + " of a normalization is computed by the model",
                    "make it a parameter or a buffer");
  }
  if (value->type.elements() != expected) {
    importer.reject(
        std::string("the ") + name + " of a normalization does not have " + std::to_string(expected) + " entries",
        kInconsistent);
  }
  const evaluate::Tensor tensor = evaluate::constant_tensor(*value);
  return std::vector<double>(tensor.values().begin(), tensor.values().end());
}

struct Kind {
  std::int64_t groups, channels, inner;
  bool subtracts_mean = true;
  bool has_bias = true;
};

ir::Value* plain_norm(Importer& importer, const Kind& kind, double eps, bool with_parameters);

bool is_computed(const Importer& importer, const char* name) {
  const ir::Value* value = importer.call->tensor(name);
  return value != nullptr && value->kind != ir::ValueKind::constant;
}

// If the model computes γ and β, they become a product and a sum after it.
ir::Value* make_norm(Importer& importer, const Kind& kind, double eps) {
  const bool is_plain = !is_computed(importer, "weight") && !(kind.has_bias && is_computed(importer, "bias"));
  ir::Value* result = plain_norm(importer, kind, eps, is_plain);
  if (is_plain) return result;
  const Build b(importer);
  const ir::Shape shape = result->type.shape;
  const std::int64_t parameters = kind.groups * kind.channels;
  b.require(parameters * kind.inner > 0);
  const std::int64_t outer = result->type.elements() / (parameters * kind.inner);
  V rows = b.view(result, {outer, parameters, kind.inner});
  const auto beside = [&](const char* name) { return b.view(b.tensor(name), {parameters, 1}); };
  if (b.tensor("weight") != nullptr) rows = b.mul(rows, beside("weight"));
  if (kind.has_bias && b.tensor("bias") != nullptr) rows = b.add(rows, beside("bias"));
  return b.view(rows, shape);
}

ir::Value* plain_norm(Importer& importer, const Kind& kind, double eps, bool with_parameters) {
  const std::int64_t parameters = kind.groups * kind.channels;
  return importer
      .node(kCanonical,
            {{"input", importer.call->tensor("input")},
             {"groups", kind.groups},
             {"channels", kind.channels},
             {"inner", kind.inner},
             {"weight", with_parameters ? numbers(importer, "weight", parameters) : ir::Argument{}},
             {"bias", with_parameters && kind.has_bias ? numbers(importer, "bias", parameters) : ir::Argument{}},
             {"eps", eps},
             {"subtracts_mean", kind.subtracts_mean}},
            {importer.types.at(0)})
      ->result();
}

std::vector<ir::Value*> import_layer_norm(Importer& importer) {
  const Kind kind{1, count(importer.call->integers("normalized_shape")), 1};
  return {make_norm(importer, kind, importer.call->number("eps"))};
}
// The core forms also return mean and reciprocal deviation of each row, whose nodes disappear if nothing reads them.
std::vector<ir::Value*> with_statistics(Importer& importer, ir::Value* result, std::int64_t rows) {
  const Build b(importer);
  V input = b.tensor("input");
  if (rows < 1 || b.results() < 3 || b.type(1).elements() != rows || input->type.elements() == 0)
    return {result, nullptr, nullptr};
  V seen = b.view(input, {rows, input->type.elements() / rows});
  V mean = b.mean(seen, {1});
  V distance = b.sub(seen, mean);
  V variance = b.mean(b.mul(distance, distance), {1});
  return {result, b.finish(mean, 1), b.finish(b.f("rsqrt", b.add(variance, b.call().number("eps"))), 2)};
}
std::vector<ir::Value*> import_native_layer_norm(Importer& importer) {
  const std::int64_t width = std::max<std::int64_t>(count(importer.call->integers("normalized_shape")), 1);
  return with_statistics(importer, import_layer_norm(importer).front(),
                         importer.call->tensor("input")->type.elements() / width);
}

std::vector<ir::Value*> import_rms_norm(Importer& importer) {
  const Kind kind{1, count(importer.call->integers("normalized_shape")), 1, false, false};
  const double fallback = std::numeric_limits<float>::epsilon();
  return {make_norm(importer, kind, importer.call->has("eps") ? importer.call->number("eps") : fallback)};
}
std::vector<ir::Value*> import_fused_rms_norm(Importer& importer) {
  return {import_rms_norm(importer).front(), nullptr};
}

ir::Value* make_group_norm(Importer& importer, std::int64_t groups) {
  const ir::Shape& shape = importer.call->tensor("input")->type.shape;
  if (shape.size() < 2 || groups < 1 || shape[1] % groups != 0) {
    importer.reject("a group norm whose groups do not divide its channels", kInconsistent);
  }
  const Kind kind{groups, shape[1] / groups, count({shape.begin() + 2, shape.end()})};
  return make_norm(importer, kind, importer.call->number("eps"));
}
std::vector<ir::Value*> import_group_norm(Importer& importer) {
  return {make_group_norm(importer, importer.call->integer("num_groups"))};
}
std::vector<ir::Value*> import_native_group_norm(Importer& importer) {
  const std::int64_t groups = importer.call->integer("group");
  return with_statistics(importer, make_group_norm(importer, groups),
                         importer.call->tensor("input")->type.shape.at(0) * groups);
}

// With statistics of its own an instance norm is a batch norm.
std::vector<ir::Value*> import_instance_norm(Importer& importer) {
  const ir::Node& call = *importer.call;
  const ir::Shape& shape = call.tensor("input")->type.shape;
  if (call.boolean("use_input_stats")) return {make_group_norm(importer, shape.size() < 2 ? 0 : shape[1])};
  return importer
      .node(nodes::aten_batch_norm, {{"input", call.get("input")},
                                     {"weight", call.get("weight")},
                                     {"bias", call.get("bias")},
                                     {"running_mean", call.get("running_mean")},
                                     {"running_var", call.get("running_var")},
                                     {"eps", call.number("eps")}})
      ->results;
}

// ---- semantics ------------------------------------------------------------------------------------------------------

std::vector<ir::TensorType> infer(const ir::Node& node) {
  const ir::TensorType& input = node.tensor("input")->type;
  const std::int64_t groups = node.integer("groups"), channels = node.integer("channels");
  const bool positive = groups >= 1 && channels >= 1 && node.integer("inner") >= 1;
  const auto block = (Checked64(groups) * channels * node.integer("inner")).get();
  const auto fits = [&](const char* name) {
    return !node.has(name) || std::ranges::ssize(std::get<std::vector<double>>(node.get(name))) == groups * channels;
  };
  if (!positive || !block || input.elements() % *block != 0 || !fits("weight") || !fits("bias")) {
    throw InputError({.problem = "the normalized size does not divide the input, or does not match the parameters",
                      .advice = kInconsistent,
                      .node = node.name,
                      .source = node.location.text()});
  }
  return {ir::float_type(input.shape)};
}

// γ or β of every (group, channel).
std::vector<double> parameters_of(const ir::Node& node, const char* name, double fallback) {
  if (node.has(name)) return std::get<std::vector<double>>(node.get(name));
  return std::vector<double>(static_cast<std::size_t>(node.integer("groups") * node.integer("channels")), fallback);
}

std::vector<evaluate::Tensor> evaluate_norm(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor& input = frame.get(node.tensor("input"));
  const std::vector<double> gamma = parameters_of(node, "weight", 1);
  const std::vector<double> beta = parameters_of(node, "bias", 0);
  const auto channels = static_cast<std::size_t>(node.integer("channels"));
  const auto inner = static_cast<std::size_t>(node.integer("inner"));
  const std::size_t size = channels * inner;
  std::vector<float> out(input.values().begin(), input.values().end());
  for (std::size_t row = 0; row * size < out.size(); ++row) {
    const std::span<float> values(out.data() + row * size, size);
    double mean = 0;
    double spread = 0;
    if (node.boolean("subtracts_mean")) {
      for (const float v : values) mean += v;
      mean /= static_cast<double>(size);
    }
    for (const float v : values) spread += (v - mean) * (v - mean);
    const double factor = 1 / std::sqrt(spread / static_cast<double>(size) + node.number("eps"));
    const std::size_t first = row * channels % gamma.size();
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t c = first + i / inner;
      values[i] = static_cast<float>((values[i] - mean) * factor * gamma[c] + beta[c]);
    }
  }
  return {evaluate::Tensor(input.shape, std::move(out))};
}

QuantRule quantize(const ir::Node& node) {
  const std::int64_t size = node.integer("channels") * node.integer("inner");
  if (size > kMaxSize || node.integer("groups") * node.integer("channels") > kMaxParameters) {
    return {.output = QuantRule::Reject{"it normalizes over " + std::to_string(size) + " elements, more than " +
                                        std::to_string(kMaxSize)},
            .weights = {}};
  }
  return {.output = QuantRule::Observe{}, .weights = {}, .precisions = precisions::w8a8_w8a16()};
}

// ---- lowering -------------------------------------------------------------------------------------------------------

double largest_of(const std::vector<double>& values) {
  double largest = 0;
  for (const double v : values) largest = std::max(largest, std::abs(v));
  return largest;
}

std::vector<std::byte> pack(const ir::Node& node) {
  const ir::QuantParams& in = node.tensor("input")->type.quant.value();
  const ir::QuantParams& out = node.result()->type.quant.value();
  std::vector<double> gamma = parameters_of(node, "weight", 1);  // in steps of the output
  std::vector<double> beta = parameters_of(node, "bias", 0);
  for (double& g : gamma) g /= out.scale();
  for (double& b : beta) b = b / out.scale() + out.zero_point();

  Header h{};
  h.groups = static_cast<std::uint32_t>(node.integer("groups"));
  h.channels = static_cast<std::uint32_t>(node.integer("channels"));
  h.inner = static_cast<std::uint32_t>(node.integer("inner"));
  h.zero_point = static_cast<std::int16_t>(in.zero_point());
  h.subtracts_mean = node.boolean("subtracts_mean") ? 1 : 0;
  const double size = h.size();
  const double epsilon = size * size * node.number("eps") / (in.scale() * in.scale());
  const std::int32_t fraction = has_words(node) ? variance_bits<std::int16_t>() : variance_bits<std::int8_t>();
  h.epsilon = static_cast<std::uint64_t>(std::min(std::round(std::ldexp(epsilon, fraction)), std::ldexp(1, 61)));

  // γ = mantissa · 2^(exponent − 31): the largest one fills 31 bits. Results may use 30.
  const double largest = std::max(largest_of(gamma), 1e-30);
  const std::int32_t exponent = std::ilogb(largest) + 1;
  const double reach = std::sqrt(size) * largest + largest_of(beta) + 1;
  const std::int32_t bits = std::min(29 - (std::ilogb(reach) + 1), 24);
  h.fraction = static_cast<std::int8_t>(std::clamp(bits + exponent, -100, largest_fraction(h.size())));
  const std::int32_t shift = h.fraction - exponent;
  if (shift < 0 || shift > 31) {
    throw InputError({.problem = "the output's scale is too small for this normalization",
                      .advice = "calibrate with representative data",
                      .node = node.name,
                      .source = node.location.text()});
  }
  h.shift = static_cast<std::uint32_t>(shift);

  std::vector<std::byte> packed(packed_bytes(static_cast<std::uint32_t>(gamma.size())));
  std::memcpy(packed.data(), &h, sizeof(h));
  std::byte* at = packed.data() + sizeof(h);
  const auto put = [&](double value) {
    const auto integer = static_cast<std::int32_t>(std::clamp(std::round(value), -2147483647.0, 2147483647.0));
    std::memcpy(at, &integer, sizeof(integer));
    at += sizeof(integer);
  };
  for (const double g : gamma) put(std::ldexp(g, 31 - exponent));
  for (const double b : beta) put(std::ldexp(b + 0.5, shift));
  return packed;
}

ir::Value* emit_norm(const Rewriter& rewriter, const char* variant) {
  const ir::Node& node = rewriter.node;
  const std::vector<std::byte> packed = pack(node);
  LayerNorm<HostWorld> call{.input = node.tensor("input")};
  call.packed = rewriter.constant("packed",
                                  ir::TensorType{.dtype = DType::i8,
                                                 .shape = {static_cast<std::int64_t>(packed.size())},
                                                 .dim_order = {},
                                                 .quant = std::nullopt},
                                  std::span<const std::byte>(packed));
  return rewriter.emit(std::move(call), node.result()->type, variant)->result();
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const auto refuse = [&](std::string problem, std::string advice) {
    throw InputError({.problem = std::move(problem),
                      .advice = std::move(advice),
                      .node = node.name,
                      .source = node.location.text()});
  };
  if (rewriter.config.runtime == Runtime::executorch) {
    refuse("ExecuTorch's Cortex-M kernels have no normalization in integers", "compile for Cormorant's own runtime");
  }
  if (has_words(node)) {
    require_words(rewriter, {"input"});
    return emit_norm(rewriter, words_variant_of(rewriter.config.target));
  }
  for (const ir::Value* value : {node.tensor("input"), node.result()}) {
    const ir::QuantParams& q = value->type.quant.value();
    if (q.dtype != DType::i8 || q.per_channel()) {
      refuse("a normalization is supported only with int8 tensors of one scale each", "quantize the model to int8");
    }
  }
  return emit_norm(rewriter, variant_of(rewriter.config.target));
}

// A row is read for the last time just before the same places are written.
bool in_place(const ir::Node& /*node*/, std::string_view argument) { return argument == "input" || argument == "self"; }

}  // namespace
}  // namespace layer_norm

Operator layer_norm_operator() {
  return {
      .name = "layer_norm",
      .limits = "at most 32768 elements per mean",
      .layout = MemoryOrder::contiguous,
      .forms = {{"layer_norm.default(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, "
                 "float eps=1e-05, bool cudnn_enable=True)",
                 layer_norm::import_layer_norm},
                {"native_layer_norm.default(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, "
                 "float eps)",
                 layer_norm::import_native_layer_norm},
                {"rms_norm.default(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None)",
                 layer_norm::import_rms_norm},
                {"_fused_rms_norm.default(Tensor input, int[] normalized_shape, Tensor? weight, float? eps)",
                 layer_norm::import_fused_rms_norm},
                {"group_norm.default(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, "
                 "float eps=1e-05, bool cudnn_enabled=True)",
                 layer_norm::import_group_norm},
                {"native_group_norm.default(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, "
                 "SymInt HxW, int group, float eps)",
                 layer_norm::import_native_group_norm},
                {"instance_norm.default(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
                 "Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled)",
                 layer_norm::import_instance_norm}},
      .canonical = {"aten.layer_norm(Tensor input, int groups, int channels, int inner, float[]? weight, float[]? "
                    "bias, float eps, bool subtracts_mean)"},
      .infer = layer_norm::infer,
      .evaluate = layer_norm::evaluate_norm,
      .quantize = layer_norm::quantize,
      .lower = layer_norm::lower,
      .in_place = layer_norm::in_place};
}

}  // namespace cormorant::ops
