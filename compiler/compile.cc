// SPDX-License-Identifier: Apache-2.0
#include "compiler/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/checked64.h"
#include "base/diagnostic.h"
#include "compiler/bands.h"
#include "compiler/layer_settings.h"
#include "compiler/trace.h"
#include "emit/emit.h"
#include "ir/verify.h"
#include "passes/passes.h"
#include "quantizer/adopt.h"
#include "quantizer/copy.h"
#include "quantizer/samples.h"

namespace cormorant::compiler {
namespace {

constexpr std::size_t kSamplesForBits = 16;  // random ones, where no data is given

// Our own runtime on a known CPU: kernels that no other program has.
bool is_for_one_cpu(const ops::Config& config) {
  return config.runtime == ops::Runtime::cormorant && !config.target.is_any();
}

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

// In a quantized node a NaN is an error (quantizer/calibrate.cc). In float it propagates, and the results say nothing
// about where it came from. Infinities are legitimate: masks contain them.
void warn_of_nan(const ir::Graph& graph, Facts& facts) {
  for (const ir::Value& value : graph.values()) {
    if (value.data.bytes.empty() || value.type.dtype != DType::f32) continue;
    const auto count = std::ranges::count_if(value.data.as<float>(), [](float v) { return std::isnan(v); });
    if (count == 0) continue;
    facts.warnings.push_back(
        fmt::format("'{}' contains NaN ({} of {} elements), and so will what is computed from it: check the checkpoint "
                    "that the model was exported with",
                    value.name, count, value.data.bytes.size() / sizeof(float)));
  }
}

// Kernels with slopes have 8-bit weights and activations, and their layers one range. Both nodes stay if bits are to be
// chosen (but see Fused), if a setting is for only one of them, or if the model has its own parameters for each.
void fuse_slopes(ir::Graph& graph, Context& context) {
  const Options& options = context.options;
  if (!options.quantize || options.bits || quantizer::is_quantized_model(graph)) return;
  passes::fuse_slopes(graph, [&](const ir::Node& convolution, const ir::Node& function) {
    const auto own = quantizer::settings_for(options.layers, convolution.location.module);
    if (own.precision.value_or(options.scheme) != ops::Precision::w8a8 || own.keep_float.value_or(false)) return false;
    return std::ranges::all_of(options.layers, [&](const quantizer::LayerSettings& layer) {
      return layer.covers(convolution.location.module) == layer.covers(function.location.module);
    });
  });
}

// The size of the program for a graph quantized in a particular way.
quantizer::Footprint footprint_of(ir::Graph graph, const Options& from) {
  Options options = from;
  options.explain = false;
  options.strict = false;
  options.curve = false;
  options.intermediates.clear();
  Stages stages = default_stages(options);
  std::vector<Stage>& later = stages.for_target;
  later.insert(later.begin(), stages.quantize.begin() + 1, stages.quantize.end());
  return from.bits->footprint(Compilation(graph, options, std::move(stages)).finish());
}

quantizer::QuantizeOptions quantizer_options(const Options& from) {
  quantizer::QuantizeOptions options;
  options.int8_io = from.io != Io::as_model;
  options.pixels = from.io == Io::uint8;
  options.scheme = from.scheme;
  // ExecuTorch's linear reads one multiplier only, and `any` runs its kernels.
  const ops::Config& config = from.config;
  options.executorch_operators = config.runtime == ops::Runtime::executorch || config.target.is_any();
  if (options.executorch_operators) options.per_tensor_weights = {"aten.linear"};
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
                    .footprint = [&from](ir::Graph graph) { return footprint_of(std::move(graph), from); }};
  }
  return options;
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
std::optional<Fused> quantize_fused(const ir::Graph& graph, const Options& options) {
  Options plain = options;
  plain.bits.reset();
  Fused fused{.graph = quantizer::copy_of(graph), .report = {}, .footprint = {}};
  Facts facts;
  Context context{plain, facts};
  fuse_slopes(fused.graph, context);
  if (fused.graph.nodes().size() == graph.nodes().size()) return std::nullopt;
  fused.report = quantizer::quantize(fused.graph, options.calibration, quantizer_options(plain));
  fused.db = worst_db(fused.graph, *fused.report.real, options);
  fused.footprint = footprint_of(quantizer::copy_of(fused.graph), options);
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

quantizer::QuantizeReport choose_bits(ir::Graph& graph, const Options& options) {
  std::optional<Fused> fused = quantize_fused(graph, options);
  quantizer::QuantizeOptions how = quantizer_options(options);
  if (!fused) return quantizer::quantize(graph, options.calibration, how);
  how.bits->db_8w8a = fused->db;
  const bool is_possible = keeps_limits(*fused, *options.bits);
  quantizer::QuantizeReport chosen;
  bool is_better = false;
  try {
    chosen = quantizer::quantize(graph, options.calibration, how);
    is_better = options.bits->flash ? fused->db >= worst_db(graph, *chosen.real, options)
                                    : fused->footprint.flash <= chosen.bits->flash;
  } catch (const InputError&) {  // no choice keeps the limits
    if (!is_possible) throw;
    is_better = true;
  }
  if (is_possible && is_better) {
    fused->report.bits = report_of(*fused, std::move(chosen.bits));
    graph = std::move(fused->graph);
    chosen = std::move(fused->report);
  }
  chosen.bits->db_8w8a = fused->db;
  chosen.bits->flash_8w8a = fused->footprint.flash;
  return chosen;
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
  quantizer::QuantizeReport report = context.options.bits ? choose_bits(graph, context.options)
                                                          : quantizer::quantize(graph, context.options.calibration,
                                                                                quantizer_options(context.options));
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

void keep_bytes(ir::Graph& graph, Context& context) {
  passes::keep_bytes(graph);
  std::erase_if(context.facts.float_operators, [&](const FloatOperator& op) {
    return op.op == "cormorant.convert.any" &&
           std::ranges::none_of(graph.nodes(), [&](const ir::Node& node) { return node.name == op.node; });
  });
}

void count_macs(const ir::Graph& graph, Facts& facts) {
  facts.macs = 0;
  facts.node_macs.clear();
  for (const ir::Node& node : graph.nodes()) {
    const ops::Operator* op = ops::find(node);
    const bool is_aten = op != nullptr && std::ranges::find(op->canonical, node.op) != op->canonical.end();
    if (!is_aten || op->macs == nullptr) continue;
    const auto total = (Checked64(facts.macs) + op->macs(node)).get();
    if (!total) throw InputError({.problem = "the model has more MACs than fit in 64 bits", .advice = {}});
    facts.macs = *total;
    facts.node_macs[node.name] += op->macs(node);
  }
}

void stream_graph(ir::Graph& graph, Context& context) {
  passes::StreamOptions options = *context.options.stream;
  options.keeps_sums = context.options.config.runtime == ops::Runtime::cormorant;
  count_macs(graph, context.facts);
  context.facts.window_macs = context.facts.macs;
  const quantizer::Samples& data = context.options.calibration;
  const bool compares = options.causal && data.count != 0 && data.steps == 1;
  std::optional<ir::Graph> window;
  if (compares) window = quantizer::copy_of(graph);
  const std::vector<passes::StreamedOutput> outputs = passes::stream(graph, options);
  if (compares) context.facts.causal_db = compare_streamed(*window, graph, options, outputs, data, kStreamed);
}

// Nodes keep their names. One of a name's steps does the multiplying (the others may be conversions).
void give_steps_macs(const ir::Graph& graph, Facts& facts) {
  std::map<std::pair<std::string, std::string>, emit::Step*> first;
  for (emit::Step& step : facts.steps) first.try_emplace({step.node, step.op}, &step);
  for (const ir::Node& node : graph.nodes()) {
    const ops::Operator* op = ops::find(node);
    const auto counted = facts.node_macs.find(node.name);
    if (op == nullptr || op->macs == nullptr || counted == facts.node_macs.end()) continue;
    const auto step = first.find({node.name, ops::program_name(node.op)});
    if (step != first.end()) step->second->macs = counted->second;
  }
}

// 4-bit weights are unpacked into scratch, which in small networks is most of the arena.
void warn_of_unpacking(Facts& facts) {
  const emit::Step* largest = nullptr;
  for (const emit::Step& step : facts.steps) {
    if (!ops::computes_in(ops::graph_name(step.op), ops::Precision::w4a8)) continue;
    if (largest == nullptr || step.scratch_bytes > largest->scratch_bytes) largest = &step;
  }
  constexpr std::int64_t kMuch = 4;  // a quarter
  const std::int64_t arena = arena_bytes(facts);
  if (largest == nullptr || largest->scratch_bytes * kMuch < arena) return;
  facts.warnings.push_back(
      fmt::format("4-bit weights take RAM: they are unpacked into up to {} bytes of scratch, in layer {}, and results "
                  "cannot overwrite their inputs; the arena has {} bytes, compare with --scheme=8w8a",
                  largest->scratch_bytes, largest->source.empty() ? largest->node : largest->source, arena));
}

// Whether some layer is to have 16-bit activations. Those of a stream do not count: its recurrences continue on their
// own.
bool wants_words(const Options& options) {
  const auto is_wide = [](const quantizer::LayerSettings& layer) { return layer.precision == ops::Precision::w8a16; };
  return options.quantize && !options.bits && !options.stream &&
         (options.scheme == ops::Precision::w8a16 || std::ranges::any_of(options.layers, is_wide));
}

void write_out_words(ir::Graph& graph, Context& context) {
  const Options& options = context.options;
  passes::write_out(graph, [&](const ir::Node& node) {
    const ops::Operator* op = ops::find(node);
    if (op == nullptr || op->writes_out_words == nullptr || !op->writes_out_words(node)) return false;
    const auto own = quantizer::settings_for(options.layers, node.location.module).precision;
    return own.value_or(options.scheme) == ops::Precision::w8a16;
  });
}

void fold_normalization(ir::Graph& graph, Context& context) {
  const auto border = context.options.rows ? passes::BorderOfMeans::avoided : passes::BorderOfMeans::allowed;
  std::vector<std::string> notes = passes::fold_normalization(graph, border);
  if (context.options.quantize) std::ranges::move(notes, std::back_inserter(context.facts.warnings));
}

void by_rows(ir::Graph& graph, Context& context) {
  const Options& options = context.options;
  if (options.rows) {
    context.facts.rows = compute_by_rows(graph, options.config, *options.rows);
  } else if (options.curve && is_for_one_cpu(options.config)) {
    context.facts.rows = plans_by_rows(graph, options.config);
  }
}

std::vector<Stage> that_apply(std::vector<Stage> stages) {
  std::erase_if(stages, [](const Stage& stage) { return !stage.applies; });
  return stages;
}

}  // namespace

Stages default_stages(const Options& options) {
  const ops::Config config = options.config;
  const bool is_ours = config.runtime == ops::Runtime::cormorant;
  const auto pass = [](void (*run)(ir::Graph&)) { return [run](ir::Graph& g, Context&) { run(g); }; };
  Stages stages;
  stages.in_float = that_apply({
      {"fuse_cells", "a cell's state keeps 16 bits inside one operator", pass(passes::fuse_cells), is_ours},
      {"write_out", "ExecuTorch has no kernel for recurrent layers", pass(passes::write_out), !is_ours},
      {"write_out_words", "some operators have no kernel with 16-bit activations", write_out_words,
       is_ours && wants_words(options)},
      {"fold_constants", "expressions of constants are constants", pass(passes::fold_constants)},
      {"merge_duplicates", "nothing is computed twice", pass(passes::merge_duplicates)},
      {"join_slices", "a slice of a concatenation is a slice of its operand", pass(passes::join_slices)},
      {"find_clamps", "a maximum with a number can become part of the operator before it", pass(passes::find_clamps)},
      {"fuse_hard_functions", "one table instead of four operators", pass(passes::fuse_hard_functions)},
      {"fuse_time_filter", "weights of past activations belong in one accumulator", pass(passes::fuse_time_filter)},
      {"lift_views", "one-dimensional convolutions stay in one layout", pass(passes::lift_views)},
      {"fold_crop", "outputs that are cropped are not computed", pass(passes::fold_crop)},
      {"fold_normalization", "x / 255, minus a mean, divided by a deviation: weights and a bias", fold_normalization},
      {"fold_batch_norm", "a batch norm costs nothing as part of the weights", pass(passes::fold_batch_norm)},
      {"fold_pad", "a convolution can pad its own input", pass(passes::fold_pad)},
      {"fuse_hardsigmoid", "a hardsigmoid is weights, bias and a clamp", pass(passes::fuse_hardsigmoid)},
      {"fuse_slopes", "a PReLU is a multiplier for sums below zero", fuse_slopes, is_for_one_cpu(config)},
      {"fuse_activations", "the clamped range is the one to quantize", pass(passes::fuse_activations)},
      {"keep_hardswish", "a model quantized by ExecuTorch gets ExecuTorch's bits", pass(passes::keep_hardswish)},
  });
  stages.quantize = that_apply({
      {"quantize", "ranges from calibration or from the model; weights, biases, activations become integers",
       quantize_graph},
      {"join_conversions", "from int8 to int8 is a table, not a detour through float", pass(passes::join_conversions)},
      {"fold_constants", "constants that the quantizer made", pass(passes::fold_constants)},
      {"keep_bytes", "pixels that the model takes as uint8 stay integers throughout", keep_bytes, is_ours},
  });
  stages.for_target = that_apply({
      {"stream", "results for earlier entries are kept, not recomputed", stream_graph, options.stream.has_value()},
      {"take_uint8", "cameras give uint8, kernels compute with int8", pass(passes::take_uint8),
       options.io == Io::uint8},
      {"drop_channels", "a channel that is the same for every input is a number in a bias",
       [](ir::Graph& g, Context& c) {
         // Rows begin at word boundaries.
         c.facts.dropped_channels = passes::drop_channels(g, c.options.rows ? 4 : 1);
       }},
      {"lower", "the operators that Cortex-M kernels implement, with ExecuTorch's schemas",
       [config](ir::Graph& g, Context& c) {
         count_macs(g, c.facts);
         passes::lower(g, config);
       }},
      {"feed", "rows of the image are contiguous, as they arrive", pass(lay_out_rows),
       options.rows && options.rows->feed},
      {"layout", "channels-last internally, a transpose only where a reader needs one",
       [config](ir::Graph& g, Context&) { passes::decide_layout(g, config); }},
      {"copy_constant_outputs", "outputs are in the arena, constants are not", pass(passes::copy_constant_outputs)},
      {"merge_duplicates", "lowering and layout may have created duplicates", pass(passes::merge_duplicates)},
      {"check", "everything left is an operator that a program can hold",
       [config](ir::Graph& g, Context&) { passes::require_program_operators(g, config); }},
      {"rows", "a chain of layers needs a few rows of each image, not the images", by_rows},
      {"prepack", "constants laid out for this target's inner loops",
       [config](ir::Graph& g, Context&) { passes::prepack(g, config); }},
      {"update_states", "the part of a state that stays is not copied",
       [config](ir::Graph& g, Context&) { passes::update_states(g, config); }},
      {"place_updates", "state is written in place once its last reader is done", pass(passes::place_updates)},
      {"clean_up", "remove unused values, store equal constants once", pass(passes::clean_up)},
      // From here on, only addresses are missing.
  });
  return stages;
}

std::int64_t arena_bytes(const Facts& facts) {
  std::int64_t bytes = 0;
  for (const emit::RegionFacts& region : facts.regions) bytes += region.bytes;
  return bytes;
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
  quantizer::QuantizeReport report = quantizer::quantize(graph, options.calibration, quantizer_options(options));
  const quantizer::Samples samples = quantizer::with_states(*report.real, data, options.threads);
  return {quantizer::compare_layers(graph, *report.real, samples, options.threads), std::move(report.equalized)};
}

Compilation::Compilation(ir::Graph& graph, const Options& options, Stages stages)
    : graph_(graph), options_(options), stages_(std::move(stages)), trace_(std::make_unique<Trace>(graph, options)) {}
Compilation::~Compilation() = default;

void Compilation::run(const std::vector<Stage>& stages) {
  Context context{options_, facts_};
  for (const Stage& stage : stages) {
    Trace::timed(stage.name, facts_, [&] { stage.run(graph_, context); });
    ir::verify(graph_, stage.name);
    trace_->ran(graph_, stage, facts_);
  }
}

void Compilation::quantize() {
  check_import();
  run(stages_.in_float);
  run(stages_.quantize);
}

Compiled Compilation::finish() {
  run(stages_.for_target);
  check_strictness();
  const emit::MemoryMap memory = plan_memory();
  Compiled compiled = emit(memory);
  return compiled;
}

// An imported text may come from anywhere.
void Compilation::check_import() {
  check_layer_settings(graph_, options_.layers);
  try {
    ir::verify(graph_, "import");
  } catch (const std::logic_error& error) {
    throw InputError({.problem = error.what(), .advice = "the model is damaged: export it again"});
  }
  warn_of_nan(graph_, facts_);
  trace_->imported(graph_);
}

void Compilation::check_strictness() const {
  if (!options_.strict || facts_.float_operators.empty()) return;
  const FloatOperator& first = facts_.float_operators.front();
  throw InputError({fmt::format("{} operators stay in float, the first being {}: {}", facts_.float_operators.size(),
                                first.op, first.reason),
                    "remove --strict to accept float operators",
                    {},
                    first.node,
                    first.source});
}

emit::MemoryMap Compilation::plan_memory() {
  const Target& target = options_.config.target;
  const bool by_bands = target.isa == Isa::mve && target.optimize != Optimize::speed &&
                        options_.config.runtime == ops::Runtime::cormorant && options_.reuse == emit::Reuse::all;
  emit::MemoryMap memory;
  Trace::timed("plan_memory", facts_, [&] {
    if (by_bands) lower_bands(graph_, options_.config.runtime);
    memory = emit::map_memory(graph_, options_.memory, options_.config.runtime, options_.reuse, options_.constants_in);
  });
  return memory;
}

Compiled Compilation::emit(const emit::MemoryMap& memory) {
  emit::Emitted emitted;
  Trace::timed("emit", facts_, [&] { emitted = emit::emit(graph_, options_.config, memory); });
  facts_.operators = std::move(emitted.operators);
  facts_.steps = std::move(emitted.steps);
  facts_.constant_bytes = emitted.constant_bytes;
  facts_.scratch_bytes = emitted.scratch_bytes;
  facts_.buffer_bytes = emitted.buffer_bytes;
  facts_.regions = std::move(emitted.regions);
  facts_.constants = std::move(emitted.constants);
  facts_.outputs_from = std::move(emitted.outputs_from);
  give_steps_macs(graph_, facts_);
  warn_of_unpacking(facts_);
  return {std::move(emitted.program), std::move(facts_)};
}

Compiled compile(ir::Graph& graph, const Options& options) {
  Compilation compilation(graph, options);
  compilation.quantize();
  return compilation.finish();
}

}  // namespace cormorant::compiler
