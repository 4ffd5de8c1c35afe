// SPDX-License-Identifier: Apache-2.0
#include "compiler/quantize_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "compiler/layer_settings.h"
#include "ops/nodes.h"
#include "passes/passes.h"
#include "quantizer/adopt.h"
#include "quantizer/annotate.h"
#include "quantizer/copy.h"
#include "quantizer/samples.h"

namespace cormorant::compiler {
namespace {

constexpr std::size_t kSamplesForBits = 16;  // random ones, where no data is given

// A batch norm or a relu becomes part of the convolution before it; alone it cannot be treated differently.
void warn_of_absorbed_layers(const ir::Graph& graph, Context& context) {
  for (const quantizer::LayerSettings& layer : context.options.layers) {
    const auto is_meant = [&](const ir::Node& node) { return layer.covers(node.location.module); };
    if (std::ranges::any_of(graph.nodes(), is_meant)) continue;
    context.facts.warnings.push_back(
        fmt::format("{}: nothing of {} is left to {}: it has become part of the previous layer", layer.where,
                    layer.path, layer.keep_float.value_or(false) ? "keep in float" : "change"));
  }
}
// The size of the program for a graph quantized in a particular way.
quantizer::Footprint footprint_of(ir::Graph graph, const Options& from, const BitsOptions& bits) {
  Options options = from;
  options.explain = false;
  options.strict = false;
  options.curve = false;
  options.intermediates.clear();
  Stages stages = default_stages(options);
  std::vector<Stage>& later = stages.for_target;
  later.insert(later.begin(), stages.quantize.begin() + 1, stages.quantize.end());
  return bits.footprint(Compilation(graph, options, std::move(stages)).finish());
}

// 8w8a throughout, with slopes fused: none of the choices of bits per layer, but better than many of them.
struct Fused {
  ir::Graph graph;
  quantizer::QuantizeReport report;
  double db = 0;  // of the worst output
  quantizer::Footprint footprint;
};

double worst_db(const ir::Graph& quantized, const ir::Graph& real, const Options& options) {
  constexpr std::uint64_t kSeed = 1;
  const std::size_t count = options.compare != 0 ? options.compare : kSamplesForBits;
  const bool is_given = options.calibration.count != 0;
  const quantizer::Samples samples =
      is_given ? options.calibration : quantizer::random_samples(real, kSamplesForBits, kSeed);
  const std::vector<double> outputs = compare(quantized, real, samples, count, options.threads).output_db;
  return outputs.empty() ? std::numeric_limits<double>::infinity() : std::ranges::min(outputs);
}

// None if there is nothing to fuse.
std::optional<Fused> quantize_fused(const ir::Graph& graph, const Options& options, const BitsOptions& limits) {
  Options plain = options;
  plain.bits.reset();
  Fused fused{.graph = quantizer::copy_of(graph), .report = {}, .footprint = {}};
  Facts facts;
  Context context{plain, facts};
  fuse_slopes(fused.graph, context);
  if (fused.graph.nodes().size() == graph.nodes().size()) return std::nullopt;
  fused.report = quantizer::quantize(fused.graph, options.calibration, quantizer_options(plain));
  fused.db = worst_db(fused.graph, *fused.report.real, options);
  fused.footprint = footprint_of(quantizer::copy_of(fused.graph), options, limits);
  return fused;
}

bool keeps_limits(const Fused& fused, const BitsOptions& limits) {
  return fused.db >= limits.min_db.value_or(-std::numeric_limits<double>::infinity()) &&
         fused.footprint.flash <= limits.flash.value_or(UINT64_MAX) &&
         fused.footprint.ram <= limits.ram.value_or(UINT64_MAX);
}

// What is told of it in place of bits that were chosen.
quantizer::BitsReport report_of(const Fused& fused, std::optional<quantizer::BitsReport> chosen) {
  quantizer::BitsReport report;
  report.goal = "the limits that are given";
  if (chosen) report = *std::move(chosen);
  report.goal = "8w8a, with PReLU and leaky ReLU as part of the convolutions, for " + report.goal;
  report.db = fused.db;
  report.flash = fused.footprint.flash;
  for (quantizer::LayerBits& layer : report.layers) {
    layer.precision = "8w8a";
    layer.alone_db = layer.alone_db_8w8a;
    layer.weight_bytes = layer.weight_bytes_8w8a;
  }
  return report;
}

quantizer::QuantizeReport choose_bits(ir::Graph& graph, const Options& options, const BitsOptions& limits) {
  std::optional<Fused> fused = quantize_fused(graph, options, limits);
  quantizer::QuantizeOptions how = quantizer_options(options);
  if (!fused) return quantizer::quantize(graph, options.calibration, how);
  if (how.bits) how.bits->db_8w8a = fused->db;
  const bool is_possible = keeps_limits(*fused, limits);
  quantizer::QuantizeReport chosen;
  bool is_better = false;
  try {
    chosen = quantizer::quantize(graph, options.calibration, how);
    is_better = limits.flash ? fused->db >= worst_db(graph, *chosen.real, options)
                             : !chosen.bits || fused->footprint.flash <= chosen.bits->flash;
  } catch (const InputError&) {  // no choice keeps the limits
    if (!is_possible) throw;
    is_better = true;
  }
  if (is_possible && is_better) {
    fused->report.bits = report_of(*fused, std::move(chosen.bits));
    graph = std::move(fused->graph);
    chosen = std::move(fused->report);
  }
  if (chosen.bits) {
    chosen.bits->db_8w8a = fused->db;
    chosen.bits->flash_8w8a = fused->footprint.flash;
  }
  return chosen;
}

}  // namespace

quantizer::QuantizeOptions quantizer_options(const Options& from) {
  quantizer::QuantizeOptions options;
  options.int8_io = from.io != Io::as_model;
  options.pixels = from.io == Io::uint8;
  options.scheme = from.scheme;
  // ExecuTorch's linear reads one multiplier only, and `any` runs its kernels.
  const ops::Config& config = from.config;
  options.executorch_operators = config.runtime == ops::Runtime::executorch || config.target.is_any();
  if (options.executorch_operators) options.per_tensor_weights = {ops::nodes::aten_linear};
  options.layers = from.layers;
  options.threads = from.threads;
  options.progress = from.progress;
  options.observer = from.observer;
  options.equalize = from.equalize;
  options.round_weights = from.round_weights;
  options.correct_biases = from.correct_biases;
  if (from.bits) {
    options.bits = {.min_db = from.bits->min_db,
                    .flash = from.bits->flash,
                    .ram = from.bits->ram,
                    // Inputs and outputs have the activations' type.
                    .may_widen = from.io == Io::as_model,
                    .samples = from.compare != 0 ? from.compare : kSamplesForBits,
                    .footprint = [&from, &bits = *from.bits](ir::Graph graph) {
                      return footprint_of(std::move(graph), from, bits);
                    }};
  }
  return options;
}

// A model may arrive with integers for its weights alone. Activations then get ranges by calibration, as those of a
// float model, and weights keep their integers (quantizer/weights.h).
void real_weights(ir::Graph& graph, Context& context) {
  context.facts.real_weights = quantizer::real_weights(graph);
  if (context.facts.real_weights == 0) return;
  context.facts.warnings.push_back(
      context.options.quantize
          ? "the model quantizes its weights, but no activations: these get ranges by calibration"
          : "the model quantizes its weights, but no activations: it is computed in float, with four bytes per weight; "
            "--calibrate=FILE makes it compute with integers");
}

// Kernels with slopes have 8-bit weights and activations, and their layers one range. Both nodes stay if bits are to be
// chosen (but see Fused), if a setting is for only one of them, or if the model has its own parameters for each.
void fuse_slopes(ir::Graph& graph, Context& context) {
  const Options& options = context.options;
  if (!options.quantize || options.bits || quantizer::is_quantized_model(graph)) return;
  // Also of a layer that keeps 8 bits although the scheme is another one: the first, the last.
  const quantizer::Annotation annotation = quantizer::annotate(graph, quantizer_options(options));
  passes::fuse_slopes(graph, [&](const ir::Node& convolution, const ir::Node& function) {
    const auto quantized = annotation.quantized.find(&convolution);
    if (quantized == annotation.quantized.end() || quantized->second.precision != ops::Precision::w8a8) return false;
    return std::ranges::all_of(options.layers, [&](const quantizer::LayerSettings& layer) {
      return layer.covers(convolution.location.module) == layer.covers(function.location.module);
    });
  });
}

// An already quantized model keeps its parameters; any other gets them by calibration.
void quantize_graph(ir::Graph& graph, Context& context) {
  const auto report_float = [&](const std::vector<quantizer::FloatNode>& nodes) {
    for (const auto& left : nodes) {
      context.facts.float_operators.push_back({left.node, left.op, left.source, left.reason});
    }
  };
  if (quantizer::is_quantized_model(graph)) {
    quantizer::AdoptReport report = quantizer::adopt(graph, context.options.io != Io::as_model);
    report_float(report.float_nodes);
    context.facts.decisions = std::move(report.decisions);
    passes::fuse_activations(graph);
    if (!context.options.layers.empty()) {
      context.facts.warnings.push_back(
          fmt::format("the model is already quantized: {} has no effect", context.options.layers.front().where));
    }
    if (context.options.quantize) {
      context.facts.warnings.push_back(
          "the model is already quantized: its own parameters are kept, without calibration");
    }
    return;
  }
  if (!context.options.quantize) return;
  warn_of_absorbed_layers(graph, context);
  Options options = context.options;
  if (context.facts.real_weights != 0) options.equalize = false;  // other factors would be other integers
  quantizer::QuantizeReport report = options.bits
                                         ? choose_bits(graph, options, *options.bits)
                                         : quantizer::quantize(graph, options.calibration, quantizer_options(options));
  report_float(report.float_nodes);
  context.facts.bits = std::move(report.bits);
  context.facts.decisions = std::move(report.decisions);
  context.facts.equalized = std::move(report.equalized);
  if (context.options.compare != 0 && context.options.calibration.count != 0 && report.real != nullptr) {
    context.facts.comparison =
        compare(graph, *report.real, context.options.calibration, context.options.compare, context.options.threads);
  }
  for (std::string& warning : report.warnings) context.facts.warnings.push_back(std::move(warning));
}

Accuracy compare_layers(ir::Graph& graph, const Options& options, const quantizer::Samples& data) {
  check_layer_settings(graph, options.layers);
  Facts facts;
  Context context{options, facts};
  for (const Stage& stage : default_stages(options).in_float) stage.run(graph, context);
  if (quantizer::is_quantized_model(graph)) {
    throw InputError({"the model is already quantized: there is no float form to compare its layers with",
                      "give the float model, exported before quantization"});
  }
  warn_of_absorbed_layers(graph, context);
  quantizer::QuantizeOptions how = quantizer_options(options);
  how.equalize = how.equalize && facts.real_weights == 0;
  quantizer::QuantizeReport report = quantizer::quantize(graph, options.calibration, how);
  std::ranges::move(report.warnings, std::back_inserter(facts.warnings));
  const quantizer::Samples samples = quantizer::with_states(*report.real, data, options.threads);
  return {quantizer::compare_layers(graph, *report.real, samples, options.threads, options.progress),
          std::move(report.equalized), std::move(facts.warnings)};
}

}  // namespace cormorant::compiler
