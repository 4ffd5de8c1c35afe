// SPDX-License-Identifier: Apache-2.0
#include "quantizer/layers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "evaluate/graph.h"
#include "evaluate/sqnr.h"
#include "ops/nodes.h"
#include "ops/op.h"
#include "quantizer/observe.h"
#include "quantizer/parallel.h"
#include "quantizer/weights.h"

namespace cormorant::quantizer {
namespace {

constexpr std::string_view kMeasuringLayers = "measuring layers";

using evaluate::Sqnr;
using evaluate::Tensor;
using Tensors = std::unordered_map<const ir::Value*, Tensor>;

// What each layer does alone is measured on few samples: each costs half a network per layer.
constexpr std::size_t kSamplesAlone = 4;
constexpr std::size_t kMostSamples = 16;  // of a small network

struct Measured {
  Sqnr total, own, inherited;
  std::vector<Sqnr> alone;  // per output
  double min = std::numeric_limits<double>::infinity(), max = -std::numeric_limits<double>::infinity();
  double clipped = 0, elements = 0;

  void add(const Measured& other) {
    total.add(other.total);
    own.add(other.own);
    inherited.add(other.inherited);
    for (std::size_t k = 0; k < alone.size(); ++k) alone[k].add(other.alone[k]);
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    clipped += other.clipped;
    elements += other.elements;
  }
  void look_at(const Tensor& tensor, const ir::QuantParams& quant) {
    const double low = quant.scale() * (quant.qmin - quant.zero_point() - 0.5);
    const double high = quant.scale() * (quant.qmax - quant.zero_point() + 0.5);
    for (const float element : tensor.values()) {
      const auto value = static_cast<double>(element);
      min = std::min(min, value);
      max = std::max(max, value);
      clipped += value < low || value > high ? 1 : 0;
    }
    elements += static_cast<double>(tensor.values().size());
  }
};

// A quantized tensor, the node that makes it, and what both are in the float graph.
struct Layer {
  const ir::Node* node;
  const ir::Value* value;
  const ir::Node* real_node;  // null for a conversion
  const ir::Value* real_value;
  std::size_t index;  // among the node's results
};

bool is_conversion(const ir::Node& node) { return ops::nodes::is_conversion(node.op); }
bool is_constant(const ir::Value* value) { return value->kind == ir::ValueKind::constant; }

class Comparison {
 public:
  Comparison(const ir::Graph& quantized, const ir::Graph& real)
      : real_(real), run_quantized_(quantized), run_real_(real) {
    for (const ir::Value& value : real.values()) real_values_[value.name] = &value;
    for (const ir::Node& node : quantized.nodes()) {
      for (std::size_t k = 0; k < node.results.size(); ++k) {
        const ir::Value* value = node.results[k];
        const ir::Value* twin = real_of(value);
        if (!value->type.quant || twin == nullptr) continue;
        layers_.push_back({&node, value, is_conversion(node) ? nullptr : twin->producer, twin, k});
      }
    }
  }

  [[nodiscard]] const std::vector<Layer>& layers() const { return layers_; }
  [[nodiscard]] std::vector<Measured> nothing() const {
    Measured empty;
    empty.alone.resize(real_.outputs().size());
    return std::vector<Measured>(layers_.size(), empty);
  }

  void measure(const Sample& sample, bool alone, std::vector<Measured>& into, std::vector<Sqnr>& outputs) const {
    Tensors reals, integers;
    const std::vector<Tensor> wanted =
        run_real_.run(sample, [&](const ir::Value& value, const Tensor& tensor) { reals[&value] = tensor; });
    const std::vector<Tensor> got =
        run_quantized_.run(sample, [&](const ir::Value& value, const Tensor& tensor) { integers[&value] = tensor; });
    for (std::size_t k = 0; k < wanted.size(); ++k) outputs[k].add(wanted[k].values(), got[k].values());
    for (std::size_t k = 0; k < layers_.size(); ++k) {
      const Layer& layer = layers_[k];
      const Tensor& exact = reals.at(layer.real_value);
      const Tensor own = own_result(layer, reals);
      into[k].look_at(exact, *layer.value->type.quant);
      into[k].total.add(exact.values(), integers.at(layer.value).values());
      into[k].own.add(exact.values(), own.values());
      into[k].inherited.add(exact.values(), inherited_result(layer, integers, exact).values());
      if (alone) follow(layer, own, reals, into[k].alone);
    }
  }

  // Per layer and output, what the layer does alone.
  [[nodiscard]] std::vector<std::vector<Sqnr>> measure_alone(const Sample& sample) const {
    Tensors reals;
    (void)run_real_.run(sample, [&](const ir::Value& value, const Tensor& tensor) { reals[&value] = tensor; });
    std::vector<std::vector<Sqnr>> alone(layers_.size(), std::vector<Sqnr>(real_.outputs().size()));
    for (std::size_t k = 0; k < layers_.size(); ++k) follow(layers_[k], own_result(layers_[k], reals), reals, alone[k]);
    return alone;
  }

 private:
  // The value's float form: its own, or that of what a conversion was made from; null if there is none.
  [[nodiscard]] const ir::Value* real_of(const ir::Value* value) const {
    while (!real_values_.contains(value->name)) {
      if (value->producer == nullptr || !is_conversion(*value->producer)) return nullptr;
      value = value->producer->tensor("input");
    }
    return real_values_.at(value->name);
  }

  // The quantized node on exact operands.
  [[nodiscard]] Tensor own_result(const Layer& layer, const Tensors& reals) const {
    evaluate::Frame frame(constants_);
    for (const ir::Value* operand : layer.node->inputs()) {
      if (!is_constant(operand)) frame.set(operand, reals.at(real_of(operand)));
    }
    return evaluate::round_to(*layer.value->type.quant, run(*layer.node, frame).at(layer.index));
  }

  // The float node on the quantized graph's operands.
  [[nodiscard]] Tensor inherited_result(const Layer& layer, const Tensors& integers, const Tensor& exact) const {
    if (layer.real_node == nullptr) {
      const auto at = integers.find(layer.node->tensor("input"));
      return at == integers.end() ? exact : at->second;
    }
    evaluate::Frame frame(real_constants_);
    const std::vector<ir::Value*> operands = layer.node->inputs(), real_operands = layer.real_node->inputs();
    for (std::size_t k = 0; k < real_operands.size(); ++k) {
      if (!is_constant(real_operands[k])) frame.set(real_operands[k], integers.at(operands.at(k)));
    }
    return run(*layer.real_node, frame).at(layer.index);
  }

  // Exact arithmetic from the layer to the outputs, where it makes a difference.
  void follow(const Layer& layer, const Tensor& own, const Tensors& reals, std::vector<Sqnr>& outputs) const {
    Tensors changed = {{layer.real_value, own}};
    for (const ir::Node& node : real_.nodes()) {
      const std::vector<ir::Value*> operands = node.inputs();
      if (&node == layer.real_value->producer) continue;
      if (std::ranges::none_of(operands, [&](const ir::Value* v) { return changed.contains(v); })) continue;
      evaluate::Frame frame(real_constants_);
      for (const ir::Value* operand : operands) {
        if (is_constant(operand)) continue;
        const auto at = changed.find(operand);
        frame.set(operand, at != changed.end() ? at->second : reals.at(operand));
      }
      std::vector<Tensor> results = run(node, frame);
      for (std::size_t k = 0; k < results.size(); ++k) changed[node.results[k]] = std::move(results[k]);
    }
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const ir::Value* output = real_.outputs()[k];
      if (is_constant(output)) continue;
      const auto at = changed.find(output);
      outputs[k].add(reals.at(output).values(), (at != changed.end() ? at->second : reals.at(output)).values());
    }
  }

  static std::vector<Tensor> run(const ir::Node& node, const evaluate::Frame& frame) {
    return ops::find(node)->evaluate(node, frame);
  }

  const ir::Graph& real_;
  const evaluate::Evaluator run_quantized_, run_real_;
  std::shared_ptr<evaluate::Constants> constants_ = std::make_shared<evaluate::Constants>();
  std::shared_ptr<evaluate::Constants> real_constants_ = std::make_shared<evaluate::Constants>();
  std::unordered_map<std::string, const ir::Value*> real_values_;
  std::vector<Layer> layers_;
};

LayerError described(const Layer& layer, const Measured& measured) {
  const ir::QuantParams& quant = *layer.value->type.quant;
  LayerError error{.value = layer.value->name,
                   .node = layer.node->name,
                   .op = layer.node->op,
                   .source = layer.node->location.text()};
  error.precision = precision_of(*layer.node, *layer.value);
  error.min = measured.min;
  error.max = measured.max;
  error.scale = quant.scale();
  error.zero_point = quant.zero_point();
  error.clipped_share = measured.elements > 0 ? measured.clipped / measured.elements : 0;
  error.sqnr_db = measured.total.db();
  error.own_db = measured.own.db();
  error.inherited_db = measured.inherited.db();
  error.alone_db = std::numeric_limits<double>::infinity();
  for (const Sqnr& output : measured.alone) error.alone_db = std::min(error.alone_db, output.db());
  return error;
}

}  // namespace

LayerReport compare_layers(const ir::Graph& quantized, const ir::Graph& real, const Samples& samples,
                           std::size_t threads, const Progress& progress) {
  const Comparison comparison(quantized, real);
  std::vector<Measured> all = comparison.nothing();
  std::vector<Sqnr> outputs(real.outputs().size());
  const std::size_t stride = std::max<std::size_t>(1, samples.count / kSamplesAlone);
  // Sums are taken in the samples' order, a bunch at a time: the same digits for any number of threads.
  constexpr std::size_t kBunch = 8;
  SharedProgress shared(progress, kMeasuringLayers, samples.count);
  for (std::size_t first = 0; first < samples.count; first += kBunch) {
    const std::size_t count = std::min(kBunch, samples.count - first);
    std::vector<std::vector<Measured>> parts(count, comparison.nothing());
    std::vector<std::vector<Sqnr>> part_outputs(count, std::vector<Sqnr>(outputs.size()));
    parallel_for(count, thread_count(threads, count), [&](std::size_t k, std::size_t) {
      const std::size_t index = first + k;
      const bool alone = index % stride == 0 && index / stride < kSamplesAlone;
      comparison.measure(samples.load(index), alone, parts[k], part_outputs[k]);
      shared.one_done();
    });
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t i = 0; i < all.size(); ++i) all[i].add(parts[k][i]);
      for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i].add(part_outputs[k][i]);
    }
  }
  LayerReport report;
  for (std::size_t k = 0; k < all.size(); ++k) report.layers.push_back(described(comparison.layers()[k], all[k]));
  std::ranges::sort(report.layers, [](const LayerError& a, const LayerError& b) {
    return a.alone_db != b.alone_db ? a.alone_db < b.alone_db : a.value < b.value;
  });
  for (const Sqnr& output : outputs) report.output_db.push_back(output.db());
  return report;
}

Blame blame(const ir::Graph& quantized, const ir::Graph& real, const Samples& samples, std::size_t threads,
            const Progress& progress) {
  const Comparison comparison(quantized, real);
  const std::size_t count = std::min<std::size_t>(kMostSamples, samples_to_judge_by(real, samples));
  std::vector<std::vector<std::vector<Sqnr>>> parts(count);
  SharedProgress shared(progress, kMeasuringLayers, count);
  parallel_for(count, thread_count(threads, count), [&](std::size_t k, std::size_t) {
    parts[k] = comparison.measure_alone(samples.load(k * samples.count / count));
    shared.one_done();
  });
  Blame blame;
  for (std::size_t layer = 0; layer < comparison.layers().size(); ++layer) {
    std::vector<double>& ratios = blame[comparison.layers()[layer].real_value->name];
    ratios.resize(real.outputs().size());
    for (std::size_t output = 0; output < ratios.size(); ++output) {
      Sqnr all;
      for (const auto& part : parts) all.add(part[layer][output]);
      ratios[output] += std::pow(10, -all.db() / 10);
    }
  }
  return blame;
}

}  // namespace cormorant::quantizer
