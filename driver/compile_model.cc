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
#include "driver/compile_error.h"
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
  const std::size_t steps = std::max<std::size_t>(1, options.calibration.steps);
  return fmt::format("{} samples{}{}", options.calibration.count / steps,
                     steps > 1 ? fmt::format(" of {} steps", steps) : "",
                     flags.calibrate.empty() ? "" : " from " + flags.calibrate);
}

// What bits per layer are chosen for.
void set_limits(const CompileFlags& flags, const CompileResult& result, FirmwareRequest request,
                compiler::BitsOptions& bits) {
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
    operators.reserve(compiled.facts.operators.size());
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
    throw CompileError(
        {.problem = "--min-sqnr cannot be measured: the model is already quantized, so there is no float form",
         .advice = "remove --min-sqnr, or compile the float model",
         .file = model},
        warnings_of(facts));
  }
  const std::vector<double>& outputs = facts.comparison->output_db;
  if (facts.bits || outputs.empty() || std::ranges::min(outputs) >= wanted) return;
  throw CompileError({.problem = fmt::format("--min-sqnr={:g} is not met: the worst output has {:.1f} dB in {}", wanted,
                                             std::ranges::min(outputs), scheme),
                      .advice = "--scheme=auto gives layers the bits this takes, or reports how close it gets",
                      .file = model},
                     warnings_of(facts));
}

struct Model {
  ir::Graph graph;
  double seconds = 0;  // to import it
};

// The model, and the samples that it is calibrated with. Appends to `notes` what the user should know of them.
Model read_model(const CompileFlags& flags, const CompileInputs& inputs, CompileResult& result,
                 std::vector<std::string>& notes) {
  const auto start = std::chrono::steady_clock::now();
  compiler::Options& options = result.options;
  Model model;
  model.graph = compiler::import_model(
      result.model,
      {.shapes = shapes_for(result.model, flags.shapes, flags.method), .notes = &notes, .method = flags.method});
  std::shared_ptr<const npy::DataSet> data = inputs.calibration;
  if (!data && !flags.calibrate.empty()) {
    data = std::make_shared<const npy::DataSet>(npy::read_data_set(flags.calibrate, flags.method));
  }
  if (data) {
    const compiler::Axes axes = flags.sequence ? compiler::Axes::sequences : compiler::Axes::samples;
    options.calibration = compiler::samples_of(data, model.graph, axes);
    options.compare = options.bits || flags.min_sqnr ? kComparedToLimit : kCompared;
    if (!quantizer::is_quantized_model(model.graph)) {
      result.calibration = look_at(options.calibration, *data, model.graph);
      notes.insert(notes.end(), result.calibration->warnings.begin(), result.calibration->warnings.end());
    }
  }
  model.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return model;
}

// What firmware needs besides the arena, from linking alone.
BesidesArena besides_arena(FirmwareRequest request, const Target& target) {
  request.execute = request.cycles = false;
  return [request, target](const compiler::Compiled& program) -> std::optional<std::int64_t> {
    const Firmware linked = link_for(program.program, target, request);
    if (!linked.state_bytes) return std::nullopt;
    const auto state = static_cast<std::int64_t>(*linked.state_bytes);
    return state + (linked.facts ? static_cast<std::int64_t>(stack_needed(*linked.facts)) : kTypicalStack);
  };
}

// Links the program that serves the goal. If the user measures, or wants the least flash, the balanced one is linked
// beside it, because only then is the code known, of which the goal's program may need more; it is taken if the goal
// loses. None if nothing was compared.
std::optional<LinkedGoal> link_programs(const CompileFlags& flags, const FirmwareRequest& request, Programs& programs,
                                        CompileResult& result) {
  const Target& target = result.options.config.target;
  compiler::Compiled& compiled = programs.chosen.compiled;
  result.firmware = link_for(compiled.program, target, request);
  if (!programs.balanced || !programs.quantized || !result.firmware.facts) return std::nullopt;
  if (!flags.measure && target.optimize != Optimize::size) return std::nullopt;
  const Firmware balanced = link_for(programs.balanced->compiled.program, target, request);
  if (!balanced.facts) return std::nullopt;
  const auto exceeds = [&](const compiler::Compiled& program, const Firmware& linked) {
    return result.budget && over_budget(*result.budget, program, linked);
  };
  const bool may_take = exceeds(compiled, result.firmware) || !exceeds(programs.balanced->compiled, balanced);
  if (may_take && loses(target.optimize, flags.measure, *result.firmware.facts, *balanced.facts)) {
    compiled = programs.balanced->compiled;
    result.firmware = balanced;
    programs.quantized->write_stages(programs.balanced->options);
  }
  return LinkedGoal{*result.firmware.facts, *balanced.facts};
}

// A budget that is exceeded, and what would meet it.
std::optional<Diagnostic> excess_of(const CompileFlags& flags, const CompileInputs& inputs, const CompileResult& result,
                                    const compiler::Compiled& compiled) {
  if (!result.budget) return std::nullopt;
  std::optional<Diagnostic> excess = over_budget(*result.budget, compiled, result.firmware);
  if (excess && inputs.advises) {
    const bool lacks_flash = result.budget->flash && needs_of(compiled, result.firmware).flash > *result.budget->flash;
    excess->advice = remedies(flags, inputs, *result.budget, lacks_flash);
  }
  return excess;
}

// What --json prints and --explain adds.
void describe(const CompileFlags& flags, const compiler::Compiled& compiled, CompileResult& result) {
  result.figures = figures_of(compiled, result.options, result.firmware, flags.measure, result.goal);
  if (result.calibration) {
    result.figures["calibration"] = calibration_json(*result.calibration);
    result.figures["calibration"]["sqnr_db"] = output_db_json(compiled.facts);
  }
  if (result.options.explain) result.explanation = explanation_json(compiled.facts);
}

// Appends to `notes` what is known of the model before it is compiled.
CompileResult compile_noting(const CompileFlags& flags, compiler::Options given, const CompileInputs& inputs,
                             std::vector<std::string>& notes) {
  CompileResult result;
  compiler::Options& options = result.options = std::move(given);
  options.progress = inputs.progress;
  if (!flags.budget.empty()) result.budget = parse_budget(flags.budget);
  result.model = find_model(flags.model);
  Model model = read_model(flags, inputs, result, notes);
  FirmwareRequest request = request_of(flags, options.config);
  request.cycles = !flags.report.empty() || options.config.target.optimize != Optimize::balanced;
  if (options.bits) set_limits(flags, result, request, *options.bits);

  const std::filesystem::path extension = std::filesystem::path(result.model).extension();
  const bool of_later_stage = extension == ".pte" || (extension != ".pt2" && is_of_later_stage(model.graph));
  if (of_later_stage) check_program_operators(model.graph, options.config, result.model);
  if (of_later_stage && options.quantize) require_operators_to_quantize(model.graph, result.model);
  Programs programs = compile_programs(model.graph, options, result.budget ? result.budget->ram : std::nullopt,
                                       besides_arena(request, options.config.target), flags.recompute, result.model);
  compiler::Compiled& compiled = programs.chosen.compiled;
  const auto with_warnings = [&](auto run) {
    try {
      return run();
    } catch (const InputError& error) {
      throw CompileError(error.diagnostic(), warnings_before(warnings_of(compiled.facts), error));
    }
  };
  with_warnings([&] { require_loadable(compiled.program, result.model, of_later_stage); });
  if (flags.min_sqnr) require_sqnr(*flags.min_sqnr, flags.quantization.scheme, compiled.facts, result.model);

  const std::optional<LinkedGoal> linked =
      with_warnings([&] { return link_programs(flags, request, programs, result); });
  compiled.facts.seconds.insert(compiled.facts.seconds.begin(), {"import", model.seconds});
  compiled.facts.warnings.insert(compiled.facts.warnings.begin(), notes.begin(), notes.end());
  result.excess = excess_of(flags, inputs, result, compiled);
  if (programs.balanced) result.goal = goal_of(compiled, programs.balanced->compiled, linked, flags.measure);
  describe(flags, compiled, result);
  result.compiled = std::move(compiled);
  return result;
}

}  // namespace

FirmwareRequest request_of(const CompileFlags& flags, const ops::Config& config) {
  const bool ours = config.runtime == ops::Runtime::cormorant;
  return {.compiler = flags.compiler == "clang" ? Compiler::clang : Compiler::gcc,
          .ours = ours,
          .link = flags.link && ours,
          .execute = flags.measure};
}

CompileResult compile_model(const CompileFlags& flags, const CompileInputs& inputs) {
  return compile_model(flags, options_of(flags, inputs.calibration != nullptr || !flags.calibrate.empty()), inputs);
}

CompileResult compile_model(const CompileFlags& flags, compiler::Options given, const CompileInputs& inputs) {
  std::vector<std::string> notes;
  try {
    return compile_noting(flags, std::move(given), inputs, notes);
  } catch (const InputError& error) {
    throw CompileError(error.diagnostic(), warnings_before({notes, {}}, error));
  }
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
  report.settings = {{"Model", flags.method.empty() ? flags.model : flags.model + ", method " + flags.method},
                     {"CPU and ISA", fmt::format("{}, {}", result.figures["target"].get<std::string>(),
                                                 result.figures["isa"].get<std::string>())},
                     {"Runtime", flags.runtime},
                     {"Inputs and outputs", flags.io == "float" ? "as the model has them" : flags.io.c_str()},
                     {"Calibration", calibration_text(flags, result.compiled, result.options)},
                     {"Bits", result.compiled.facts.bits ? "for each layer: " + result.compiled.facts.bits->goal
                                                         : flags.quantization.scheme},
                     {"SQNR", comparison_text(result.compiled.facts, result.options.calibration.steps)},
                     {"Optimized for", flags.optimize},
                     {"Memory", none_if_empty(flags.memory, "one region of unlimited size")},
                     {"Constants read from", flags.weights_in},
                     {"Budget", none_if_empty(flags.budget, "none")}};
  return report_page(report);
}

}  // namespace cormorant::driver
