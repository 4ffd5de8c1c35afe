// SPDX-License-Identifier: Apache-2.0
#include "compiler/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/checked64.h"
#include "base/diagnostic.h"
#include "base/output_file.h"
#include "compiler/layer_settings.h"
#include "emit/emit.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/passes.h"
#include "quantizer/adopt.h"
#include "quantizer/copy.h"

namespace cormorant::compiler {
namespace {

// A batch norm or a relu becomes part of the convolution before it; alone it cannot be treated otherwise.
void warn_of_absorbed_layers(const ir::Graph& graph, Context& context) {
  for (const quantizer::LayerSettings& layer : context.options.layers) {
    const auto is_meant = [&](const ir::Node& node) { return layer.covers(node.location.module); };
    if (std::ranges::any_of(graph.nodes(), is_meant)) continue;
    context.facts.warnings.push_back(
        fmt::format("{}: nothing of {} is left to {}: it is part of the layer before it now", layer.where, layer.path,
                    layer.keep_float.value_or(false) ? "keep in float" : "change"));
  }
}

quantizer::QuantizeOptions quantizer_options(const Options& from) {
  quantizer::QuantizeOptions options;
  options.int8_io = from.io == Io::int8;
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
  return options;
}

// A model that arrives quantized keeps its parameters; any other gets them by calibration.
void quantize(ir::Graph& graph, Context& context) {
  const auto report_float = [&](const std::vector<quantizer::FloatNode>& nodes) {
    for (const auto& left : nodes) {
      context.facts.float_operators.push_back({left.node, left.op, left.source, left.reason});
    }
  };
  if (quantizer::is_quantized_model(graph)) {
    quantizer::AdoptReport report = quantizer::adopt(graph, context.options.io == Io::int8);
    report_float(report.float_nodes);
    context.facts.decisions = std::move(report.decisions);
    passes::fuse_activations(graph);
    if (!context.options.layers.empty()) {
      context.facts.warnings.push_back(
          fmt::format("the model is quantized already: {} changes nothing", context.options.layers.front().where));
    }
    if (context.options.quantize) {
      context.facts.warnings.push_back("the model is quantized already: its own parameters are kept, no calibration");
    }
    return;
  }
  if (!context.options.quantize) return;
  warn_of_absorbed_layers(graph, context);
  quantizer::QuantizeReport report =
      quantizer::quantize(graph, context.options.calibration, quantizer_options(context.options));
  report_float(report.float_nodes);
  context.facts.decisions = std::move(report.decisions);
  context.facts.equalized = std::move(report.equalized);
  for (std::string& warning : report.warnings) context.facts.warnings.push_back(std::move(warning));
}

void count_macs(const ir::Graph& graph, Facts& facts) {
  for (const ir::Node& node : graph.nodes()) {
    const ops::Operator* op = ops::find(node);
    const bool is_aten = op != nullptr && std::ranges::find(op->canonical, node.op) != op->canonical.end();
    if (!is_aten || op->macs == nullptr) continue;
    const auto total = (Checked64(facts.macs) + op->macs(node)).get();
    if (!total) throw InputError({.problem = "the model has more products than 64 bits count", .advice = {}});
    facts.macs = *total;
    facts.node_macs[node.name] += op->macs(node);
  }
}

// Nodes keep their names. Of a name's steps (there may be conversions beside it) one is such that it multiplies.
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

}  // namespace

std::vector<Stage> default_stages(const Options& options) {
  const ops::Config config = options.config;
  const auto pass = [](void (*run)(ir::Graph&)) { return [run](ir::Graph& g, Context&) { run(g); }; };
  return {
      // From here the graph is PyTorch's, in float.
      {"fold_constants", "what depends on constants alone is a constant", pass(passes::fold_constants)},
      {"merge_duplicates", "what is computed twice is computed once", pass(passes::merge_duplicates)},
      {"find_clamps", "the maximum with a number can be part of the operator before", pass(passes::find_clamps)},
      {"fuse_hard_functions", "one table instead of four operators", pass(passes::fuse_hard_functions)},
      {"lift_views", "one-dimensional convolutions stay in one layout", pass(passes::lift_views)},
      {"fold_crop", "outputs that are cut off are not computed", pass(passes::fold_crop)},
      {"fold_batch_norm", "a batch norm costs nothing as part of the weights", pass(passes::fold_batch_norm)},
      {"fold_pad", "a convolution pads by itself", pass(passes::fold_pad)},
      {"fuse_hardsigmoid", "a line with two bends is weights, bias and a clamp", pass(passes::fuse_hardsigmoid)},
      {"fuse_activations", "the clamped range is the one to quantize", pass(passes::fuse_activations)},
      {"keep_hardswish", "a model that ExecuTorch quantized gets its bits", pass(passes::keep_hardswish)},
      {"quantize", "ranges from calibration or from the model; weights, biases, activations become integers", quantize},
      // From here every tensor that can be is int8.
      {"join_conversions", "from int8 to int8 is a table, not a way through float", pass(passes::join_conversions)},
      {"fold_constants", "integers that only change their shape", pass(passes::fold_constants)},
      {"lower", "the operators that Cortex-M kernels implement, with ExecuTorch's schemas",
       [config](ir::Graph& g, Context& c) {
         count_macs(g, c.facts);
         passes::lower(g, config);
       }},
      {"layout", "channels-last inside, a transpose only where somebody needs one",
       [config](ir::Graph& g, Context&) { passes::decide_layout(g, config); }},
      {"copy_constant_outputs", "outputs lie in memory, constants do not", pass(passes::copy_constant_outputs)},
      {"merge_duplicates", "lowering and layout may have made equal ones", pass(passes::merge_duplicates)},
      {"check", "everything left is an operator that a program can hold",
       [config](ir::Graph& g, Context&) { passes::require_program_operators(g, config); }},
      {"prepack", "constants laid out for this target's inner loops",
       [config](ir::Graph& g, Context&) { passes::prepack(g, config); }},
      {"clean_up", "what nothing uses goes, what exists twice is kept once", pass(passes::clean_up)},
      // From here every node is an instruction (or an alias), and only addresses are missing.
  };
}

namespace {

class Intermediates {
 public:
  explicit Intermediates(const std::filesystem::path& folder) : folder_(folder) {
    if (folder_.empty()) return;
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    if (error) {
      throw InputError({"cannot make the folder: " + error.message(), "name another for --intermediates", folder_});
    }
  }
  void write(const ir::Graph& graph, const std::string& stage) {
    if (folder_.empty()) return;
    std::vector<std::byte> blob;
    const std::string text = ir::print(graph, &blob);
    const std::filesystem::path base = folder_ / fmt::format("{:02}-{}.txt", number_++, stage);
    write_output(base, text);
    write_output(base.string() + ".data", blob);
  }

 private:
  std::filesystem::path folder_;
  int number_ = 0;
};

// Nodes keep their names through the stages, so a stage's effect on a node is what stands under its name before and
// after.
class Changes {
 public:
  explicit Changes(const ir::Graph& graph) : now_(nodes_by_name(graph)) { remember_sources(graph); }

  void record(const ir::Graph& graph, const Stage& stage, std::vector<Change>& changes) {
    Names after = nodes_by_name(graph);
    remember_sources(graph);
    for (const auto& [name, ops] : now_) {
      const auto at = after.find(name);
      std::vector<std::string> became = at == after.end() ? std::vector<std::string>() : at->second;
      if (became != ops) changes.push_back({name, ops.front(), sources_[name], stage.name, stage.why, became});
    }
    now_ = std::move(after);
  }

 private:
  void remember_sources(const ir::Graph& graph) {
    for (const ir::Node& node : graph.nodes()) sources_[node.name] = node.location.text();
  }
  using Names = std::map<std::string, std::vector<std::string>>;
  static Names nodes_by_name(const ir::Graph& graph) {
    Names names;
    for (const ir::Node& node : graph.nodes()) names[node.name].push_back(node.op);
    return names;
  }
  Names now_;
  std::map<std::string, std::string> sources_;
};

}  // namespace

std::int64_t arena_bytes(const Facts& facts) {
  std::int64_t bytes = 0;
  for (const emit::RegionFacts& region : facts.regions) bytes += region.bytes;
  return bytes;
}

Accuracy compare_layers(ir::Graph& graph, const Options& options, const quantizer::Samples& data) {
  check_layer_settings(graph, options.layers);
  Facts facts;
  Context context{options, facts};
  for (const Stage& stage : default_stages(options)) {
    if (stage.name == "quantize") break;
    stage.run(graph, context);
  }
  if (quantizer::is_quantized_model(graph)) {
    throw InputError({"the model is quantized already: there is no float form to compare its layers with",
                      "give the float model, exported before quantization"});
  }
  quantizer::QuantizeReport report = quantizer::quantize(graph, options.calibration, quantizer_options(options));
  return {quantizer::compare_layers(graph, *report.real, data, options.threads), std::move(report.equalized)};
}

namespace {

// The goal matters from here on.
constexpr std::string_view kFirstWithGoal = "lower";

// The same model for the default goal, from the graph before it mattered.
Balanced compile_balanced(ir::Graph graph, Options options) {
  options.config.target.optimize = Optimize::balanced;
  Facts unused;
  Context context{options, unused};
  bool begun = false;
  for (const Stage& stage : default_stages(options)) {
    begun = begun || stage.name == kFirstWithGoal;
    if (begun) stage.run(graph, context);
  }
  emit::Emitted emitted = emit::emit(graph, options.config, options.memory, options.reuse, options.constants_in);
  return {std::move(emitted.program), std::move(emitted.steps)};
}

}  // namespace

Compiled compile(ir::Graph& graph, const Options& options, const std::vector<Stage>& stages) {
  Compiled compiled;
  Context context{options, compiled.facts};
  Intermediates intermediates(options.intermediates);
  const auto timed = [&](const std::string& name, const auto& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    auto& seconds = compiled.facts.seconds;
    const auto known = std::ranges::find(seconds, name, &std::pair<std::string, double>::first);
    if (known == seconds.end()) {
      seconds.emplace_back(name, took.count());
    } else {
      known->second += took.count();  // a stage that runs twice
    }
  };

  check_layer_settings(graph, options.layers);
  try {
    ir::verify(graph, "import");
  } catch (const std::logic_error& error) {
    throw InputError({.problem = error.what(), .advice = "the model is damaged: export it again"});
  }
  intermediates.write(graph, "import");
  std::optional<Changes> changes;
  if (options.explain) changes.emplace(graph);
  std::optional<ir::Graph> before_goal;
  for (const Stage& stage : stages) {
    if (stage.name == kFirstWithGoal && options.config.target.optimize != Optimize::balanced) {
      before_goal = quantizer::copy_of(graph);
    }
    timed(stage.name, [&] { stage.run(graph, context); });
    if (changes) changes->record(graph, stage, compiled.facts.changes);
    ir::verify(graph, stage.name);
    intermediates.write(graph, stage.name);
  }
  if (options.strict && !compiled.facts.float_operators.empty()) {
    const FloatOperator& first = compiled.facts.float_operators.front();
    throw InputError({fmt::format("{} operators stay in float, the first being {}: {}",
                                  compiled.facts.float_operators.size(), first.op, first.reason),
                      "leave --strict away to accept float operators",
                      {},
                      first.node,
                      first.source});
  }
  if (before_goal) {
    timed("balanced", [&] { compiled.facts.balanced = compile_balanced(std::move(*before_goal), options); });
  }
  timed("emit", [&] {
    emit::Emitted emitted = emit::emit(graph, options.config, options.memory, options.reuse, options.constants_in);
    compiled.program = std::move(emitted.program);
    compiled.facts.operators = std::move(emitted.operators);
    compiled.facts.steps = std::move(emitted.steps);
    compiled.facts.constant_bytes = emitted.constant_bytes;
    compiled.facts.scratch_bytes = emitted.scratch_bytes;
    compiled.facts.regions = std::move(emitted.regions);
    compiled.facts.constants = std::move(emitted.constants);
    give_steps_macs(graph, compiled.facts);
  });
  return compiled;
}

}  // namespace cormorant::compiler
