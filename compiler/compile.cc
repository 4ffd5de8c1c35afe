// SPDX-License-Identifier: Apache-2.0
#include "compiler/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/checked64.h"
#include "base/diagnostic.h"
#include "compiler/bands.h"
#include "compiler/layer_settings.h"
#include "compiler/quantize_graph.h"
#include "compiler/trace.h"
#include "emit/emit.h"
#include "ir/verify.h"
#include "ops/nodes.h"
#include "passes/passes.h"
#include "quantizer/adopt.h"
#include "quantizer/copy.h"

namespace cormorant::compiler {
namespace {

// Our own runtime on a known CPU: kernels that no other program has.
bool is_for_one_cpu(const ops::Config& config) {
  return config.runtime == ops::Runtime::cormorant && !config.target.is_any();
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

void keep_bytes(ir::Graph& graph, Context& context) {
  passes::keep_bytes(graph);
  std::erase_if(context.facts.float_operators, [&](const FloatOperator& op) {
    return op.op == ops::nodes::cormorant_convert_any &&
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

void fold_normalization(ir::Graph& graph, Context& context) {
  const auto border = context.options.rows ? passes::BorderOfMeans::avoided : passes::BorderOfMeans::allowed;
  std::vector<std::string> notes = passes::fold_normalization(graph, border);
  if (context.options.quantize) std::ranges::move(notes, std::back_inserter(context.facts.warnings));
}

// Kernels with DSP or MVE instructions read channels by words, and the ones left over byte by byte: dropping all dead
// channels would cost up to a quarter of a network's time there. Rows begin at word boundaries on every CPU.
std::size_t channels_at_once(const Options& options) {
  const Target& target = options.config.target;
  return options.rows || target.is_any() || target.isa != Isa::scalar ? 4 : 1;
}

void by_rows(ir::Graph& graph, Context& context) {
  const Options& options = context.options;
  if (options.rows) {
    context.facts.rows = compute_by_rows(graph, options.config, *options.rows, options.progress);
  } else if (options.curve && is_for_one_cpu(options.config)) {
    context.facts.rows = plans_by_rows(graph, options.config, options.progress);
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
      {"fold_constants", "expressions of constants are constants", pass(passes::fold_constants)},
      {"merge_duplicates", "nothing is computed twice", pass(passes::merge_duplicates)},
      {"fold_selections", "elements at known places are a slice, or weights in another order",
       pass(passes::fold_selections)},
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
      {"ring_states", "of a delay line, only the entries that are read are copied", pass(passes::ring_states), is_ours},
      {"take_uint8", "cameras give uint8, kernels compute with int8", pass(passes::take_uint8),
       options.io == Io::uint8},
      {"drop_channels", "a channel that is the same for every input is a number in a bias",
       [](ir::Graph& g, Context& c) {
         c.facts.dropped_channels = passes::drop_channels(g, channels_at_once(c.options));
       }},
      {"narrow_integers", "an index within a tensor needs no 64 bits", pass(passes::narrow_integers), is_ours},
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
Compilation::Compilation(ir::Graph& quantized, const Options& options, Facts facts) : Compilation(quantized, options) {
  facts_ = std::move(facts);
  trace_ = std::make_unique<Trace>(quantized, options, 1 + stages_.in_float.size() + stages_.quantize.size());
}
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
  const memory::MemoryMap memory = plan_memory();
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
  const std::size_t count = facts_.float_operators.size();
  const std::string which =
      count == 1 ? "one operator stays in float," : fmt::format("{} operators stay in float, the first being", count);
  throw InputError({fmt::format("{} {}: {}", which, first.op, first.reason),
                    "remove --strict to accept float operators",
                    {},
                    first.node,
                    first.source});
}

memory::MemoryMap Compilation::plan_memory() {
  const bool by_bands = has_bands(options_.config) && options_.reuse == memory::Reuse::all;
  memory::MemoryMap memory;
  Trace::timed("plan_memory", facts_, [&] {
    if (by_bands) lower_bands(graph_, options_.config.runtime);
    memory =
        memory::map_memory(graph_, options_.memory, options_.config.runtime, options_.reuse, options_.constants_in);
  });
  return memory;
}

Compiled Compilation::emit(const memory::MemoryMap& memory) {
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
