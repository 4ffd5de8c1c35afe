// SPDX-License-Identifier: Apache-2.0
#include "compiler/compile.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostic.h"
#include "compiler/bands.h"
#include "compiler/facts.h"
#include "compiler/layer_settings.h"
#include "compiler/quantize_graph.h"
#include "compiler/stages.h"
#include "compiler/trace.h"
#include "emit/emit.h"
#include "ir/verify.h"
#include "passes/passes.h"

namespace cormorant::compiler {
namespace {

std::vector<Stage> that_apply(std::vector<Stage> stages) {
  std::erase_if(stages, [](const Stage& stage) { return !stage.applies; });
  return stages;
}

}  // namespace

Stages default_stages(const Options& options) {
  const ops::Config config = options.config;
  const bool is_ours = config.runtime == ops::Runtime::cormorant;
  const auto pass = [](void (*run)(ir::Graph&)) { return [run](ir::Graph& g, Context&) { run(g); }; };
  const auto pass_for = [config](auto run) { return [run, config](ir::Graph& g, Context&) { run(g, config); }; };
  Stages stages;
  stages.in_float = that_apply({
      {"real_weights", "where weights alone are quantized, layers compute with the numbers they stand for",
       real_weights},
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
      {"lift_functions", "a function of volumes can become part of the convolution of images",
       pass(passes::lift_functions)},
      {"fold_factors", "factors and terms after a layer are weights and a bias", pass(passes::fold_factors)},
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
      {"stream", "results for earlier entries are kept, not recomputed", stream, options.stream.has_value()},
      {"ring_states", "of a delay line, only the entries that are read are copied", pass(passes::ring_states), is_ours},
      {"take_uint8", "cameras give uint8, kernels compute with int8", pass(passes::take_uint8),
       options.io == Io::uint8},
      {"drop_channels", "a channel that is the same for every input is a number in a bias", drop_channels},
      {"narrow_integers", "an index within a tensor needs no 64 bits", pass(passes::narrow_integers), is_ours},
      {"fold_uneven_pad", "ExecuTorch's newest convolutions pad four sides", pass(passes::fold_uneven_pad),
       options.uneven_padding},
      {"lower", "the operators that Cortex-M kernels implement, with ExecuTorch's schemas", lower},
      {"feed", "rows of the image are contiguous, as they arrive", pass(lay_out_rows),
       options.rows && options.rows->feed},
      {"layout", "channels-last internally, a transpose only where a reader needs one",
       pass_for(passes::decide_layout)},
      {"copy_constant_outputs", "outputs are in the arena, constants are not", pass(passes::copy_constant_outputs)},
      {"merge_duplicates", "lowering and layout may have created duplicates", pass(passes::merge_duplicates)},
      {"check", "everything left is an operator that a program can hold", pass_for(passes::require_program_operators)},
      {"rows", "a chain of layers needs a few rows of each image, not the images", by_rows},
      {"prepack", "constants laid out for this target's inner loops", pass_for(passes::prepack)},
      {"update_states", "the part of a state that stays is not copied", pass_for(passes::update_states)},
      {"place_updates", "state is written in place once its last reader is done", pass(passes::place_updates)},
      {"clean_up", "remove unused values, store equal constants once", pass(passes::clean_up)},
      // From here on, only addresses are missing.
  });
  return stages;
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
  return emit(plan_memory());
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
  for (const ir::Update& update : graph_.updates()) {
    const ir::TensorType& type = update.state->type;
    if (type.dtype != DType::f32 && !type.is_quantized()) facts_.counters.emplace_back(update.state->name, type.dtype);
  }
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
