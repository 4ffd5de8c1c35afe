// SPDX-License-Identifier: Apache-2.0
#include "driver/compile_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <utility>

#include "base/diagnostic.h"
#include "compiler/import.h"
#include "compiler/samples.h"
#include "driver/figures.h"
#include "driver/options.h"
#include "driver/programs.h"
#include "driver/remedies.h"
#include "program/files.h"
#include "program/program_io.h"
#include "quantizer/adopt.h"
#include "report/explain.h"
#include "report/report.h"

namespace cormorant::driver {
namespace {

constexpr std::size_t kCompared = 8;          // calibration samples, for the SQNR that compile reports
constexpr std::size_t kComparedToLimit = 16;  // the same where something depends on it

std::string calibration_text(const CompileFlags& flags, const compiler::Compiled& compiled,
                             const compiler::Options& options) {
  const std::vector<quantizer::Decision>& decisions = compiled.facts.decisions;
  const auto is_adopted = [](const quantizer::Decision& d) { return d.rule == "the model's parameters"; };
  if (decisions.empty()) return "none: not quantized";
  if (std::ranges::any_of(decisions, is_adopted)) return "none: the model has its own parameters";
  if (options.calibration.count == 0) return "seeded random inputs, which are not representative";
  return fmt::format("{} samples{}", options.calibration.count,
                     flags.calibrate.empty() ? "" : " of " + flags.calibrate);
}

// What bits per layer are chosen for.
void set_limits(const CompileFlags& flags, CompileResult& result, FirmwareRequest request) {
  compiler::BitsOptions& bits = *result.options.bits;
  bits.min_db = flags.min_sqnr;
  if (result.budget) {
    bits.flash = result.budget->flash;
    bits.ram = result.budget->ram;
  }
  request.execute = request.cycles = false;
  // The same operators have the same code.
  const auto known = std::make_shared<std::map<std::vector<std::string>, Firmware>>();
  bits.footprint = [known, request, target = result.options.config.target](const compiler::Compiled& compiled) {
    std::vector<std::string> operators;
    for (const auto& [name, times] : compiled.facts.operators) operators.push_back(name);
    const auto [at, is_new] = known->try_emplace(std::move(operators));
    if (is_new) at->second = link_for(compiled.program, target, request);
    Firmware firmware = at->second;
    if (!is_new)
      firmware.state_bytes = link_for(compiled.program, target, {.ours = request.ours, .link = false}).state_bytes;
    const Needs needs = needs_of(compiled, firmware);
    return quantizer::Footprint{.flash = needs.flash, .ram = needs.ram};
  };
}

// The search keeps the limit; one scheme for all may miss it.
void require_sqnr(double wanted, const std::string& scheme, const compiler::Facts& facts, const std::string& model) {
  if (!facts.comparison) {
    throw InputError(
        {.problem = "--min-sqnr cannot be measured: the model is already quantized, so there is no float form",
         .advice = "remove --min-sqnr, or compile the float model",
         .file = model});
  }
  const std::vector<double>& outputs = facts.comparison->output_db;
  if (facts.bits || outputs.empty() || std::ranges::min(outputs) >= wanted) return;
  throw InputError({.problem = fmt::format("--min-sqnr={:g} is not met: the worst output has {:.1f} dB in {}", wanted,
                                           std::ranges::min(outputs), scheme),
                    .advice = "--scheme=auto gives layers the bits this takes, or reports how close it gets",
                    .file = model});
}

}  // namespace

CompileResult compile_model(const CompileFlags& flags, const CompileInputs& inputs) {
  return compile_model(flags, options_of(flags, inputs.calibration != nullptr || !flags.calibrate.empty()), inputs);
}

CompileResult compile_model(const CompileFlags& flags, compiler::Options given, const CompileInputs& inputs) {
  CompileResult result;
  compiler::Options& options = result.options = std::move(given);
  if (!flags.budget.empty()) result.budget = parse_budget(flags.budget);
  result.model = find_model(flags.model);
  const std::string& model = result.model;
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::string> notes;
  ir::Graph graph =
      compiler::import_model(model, {.shapes = parse_shapes(flags.shapes), .notes = &notes, .method = flags.method});
  const compiler::Axes axes = flags.sequence ? compiler::Axes::sequences : compiler::Axes::samples;
  std::shared_ptr<const npy::DataSet> data = inputs.calibration;
  if (!data && !flags.calibrate.empty())
    data = std::make_shared<const npy::DataSet>(npy::read_data_set(flags.calibrate, flags.method));
  if (data) {
    options.calibration = compiler::samples_of(data, graph, axes);
    options.compare = options.bits || flags.min_sqnr ? kComparedToLimit : kCompared;
    if (!quantizer::is_quantized_model(graph)) result.calibration = look_at(options.calibration, *data, graph);
  }
  const std::chrono::duration<double> import_time = std::chrono::steady_clock::now() - start;
  options.progress = inputs.progress;

  const bool has_goal = options.config.target.optimize != Optimize::balanced;
  const FirmwareRequest request = {.compiler = flags.compiler == "clang" ? Compiler::clang : Compiler::gcc,
                                   .ours = options.config.runtime == ops::Runtime::cormorant,
                                   .link = flags.link && options.config.runtime == ops::Runtime::cormorant,
                                   .execute = flags.measure,
                                   .cycles = !flags.report.empty() || has_goal};
  if (options.bits) set_limits(flags, result, request);

  const bool of_later_stage = std::filesystem::path(model).extension() != ".pt2" && is_of_later_stage(graph);
  if (of_later_stage) check_program_operators(graph, options.config, model);
  const auto besides = [&](const compiler::Compiled& program) -> std::optional<std::int64_t> {
    FirmwareRequest only_link = request;
    only_link.execute = only_link.cycles = false;
    const Firmware linked = link_for(program.program, options.config.target, only_link);
    if (!linked.state_bytes) return std::nullopt;
    const auto state = static_cast<std::int64_t>(*linked.state_bytes);
    return state + (linked.facts ? static_cast<std::int64_t>(stack_needed(*linked.facts)) : kTypicalStack);
  };
  Programs programs = compile_programs(graph, options, result.budget ? result.budget->ram : std::nullopt, besides,
                                       flags.recompute, model);
  compiler::Compiled& compiled = programs.chosen.compiled;
  const std::optional<Candidate>& balanced = programs.balanced;
  require_loadable(compiled.program, model, of_later_stage);
  if (flags.min_sqnr) require_sqnr(*flags.min_sqnr, flags.quantization.scheme, compiled.facts, model);
  Firmware& firmware = result.firmware = link_for(compiled.program, options.config.target, request);
  std::optional<Firmware> balanced_firmware;
  if (balanced && firmware.facts && (flags.measure || options.config.target.optimize == Optimize::size)) {
    balanced_firmware = link_for(balanced->compiled.program, options.config.target, request);
    const auto exceeds = [&](const compiler::Compiled& program, const Firmware& linked) {
      return result.budget && over_budget(*result.budget, program, linked);
    };
    // Only now is the code known: the goal's program may need a kernel that balanced does not.
    if (balanced_firmware->facts && (exceeds(compiled, firmware) || !exceeds(balanced->compiled, *balanced_firmware)) &&
        loses(options.config.target.optimize, flags.measure, *firmware.facts, *balanced_firmware->facts)) {
      compiled = balanced->compiled;
      firmware = *balanced_firmware;
      programs.quantized->write_stages(balanced->options);
    }
  }
  compiled.facts.seconds.insert(compiled.facts.seconds.begin(), {"import", import_time.count()});
  if (result.calibration) {
    notes.insert(notes.end(), result.calibration->warnings.begin(), result.calibration->warnings.end());
  }
  compiled.facts.warnings.insert(compiled.facts.warnings.begin(), notes.begin(), notes.end());
  if (result.budget) result.excess = over_budget(*result.budget, compiled, firmware);
  if (result.excess && inputs.advises) {
    const bool lacks_flash = result.budget->flash && needs_of(compiled, firmware).flash > *result.budget->flash;
    result.excess->advice = remedies(flags, inputs, *result.budget, lacks_flash);
  }
  if (balanced) {
    std::optional<LinkedGoal> both;
    if (balanced_firmware && balanced_firmware->facts) both = {*firmware.facts, *balanced_firmware->facts};
    result.goal = goal_of(compiled, balanced->compiled, both, flags.measure);
  }
  result.figures = figures_of(compiled, options, firmware, flags.measure, result.goal);
  if (result.calibration) {
    result.figures["calibration"] = calibration_json(*result.calibration);
    result.figures["calibration"]["sqnr_db"] = output_db_json(compiled.facts);
  }
  if (options.explain) result.explanation = explanation_json(compiled.facts);
  result.compiled = std::move(compiled);
  return result;
}

std::string report_page(const CompileFlags& flags, const CompileResult& result) {
  Report report{.model = flags.model,
                .settings = {},
                .compiled = result.compiled,
                .firmware = result.firmware,
                .measured = flags.measure,
                .budget = result.budget.value_or(Budget()),
                .over_budget = result.excess,
                .figures = result.figures,
                .explanation = result.explanation};
  const auto none_if_empty = [](const std::string& text, const char* none) { return text.empty() ? none : text; };
  report.settings = {{"Model", flags.model},
                     {"CPU and ISA", fmt::format("{}, {}", result.figures["target"].get<std::string>(),
                                                 result.figures["isa"].get<std::string>())},
                     {"Runtime", flags.runtime},
                     {"Inputs and outputs", flags.io == "float" ? "as the model has them" : flags.io.c_str()},
                     {"Calibration", calibration_text(flags, result.compiled, result.options)},
                     {"Bits", result.compiled.facts.bits ? "for each layer: " + result.compiled.facts.bits->goal
                                                         : flags.quantization.scheme},
                     {"SQNR", comparison_text(result.compiled.facts)},
                     {"Optimized for", flags.optimize},
                     {"Memory", none_if_empty(flags.memory, "one region of unlimited size")},
                     {"Constants read from", flags.weights_in},
                     {"Budget", none_if_empty(flags.budget, "none")}};
  return report_page(report);
}

}  // namespace cormorant::driver
