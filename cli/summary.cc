// SPDX-License-Identifier: Apache-2.0
#include "cli/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/terminal.h"
#include "driver/figures.h"
#include "program/files.h"
#include "program/program_io.h"
#include "report/explain.h"

namespace cormorant::cli {
namespace {

// What memory was saved, and what that costs in time; with the curve also the alternatives.
void print_rows(const compiler::RowsFacts& rows, bool with_curve) {
  const auto number = [](std::int64_t value) { return grouped(static_cast<std::uint64_t>(value)); };
  if (rows.groups != 0) {
    fmt::print(
        "  by rows     {:>11} of the operators, in {} group{}: {} bytes instead of {} layer by layer, for {} more "
        "cycles ({:.1f} %, estimated)\n",
        rows.nodes, rows.groups, rows.groups == 1 ? "" : "s", number(rows.bytes), number(rows.bytes_by_layer),
        number(rows.extra), driver::percent_more(rows, rows.extra));
    if (rows.extra_macs != 0)
      fmt::print("              {:>11} MACs computed more than once\n", number(rows.extra_macs));
  }
  if (!with_curve || rows.curve.size() < 2) return;
  fmt::print("  memory against time, estimated: every choice that no other one beats\n");
  for (const compiler::RowsPoint& point : rows.curve) {
    fmt::print("              {:>11} bytes  {:>+6.1f} %  {}{}\n", number(point.bytes),
               driver::percent_more(rows, point.extra),
               point.nodes == 0 ? "layer by layer" : fmt::format("{} of the operators by rows", point.nodes),
               rows.groups != 0 && point.bytes == rows.bytes ? ", chosen" : "");
  }
}

void print_comparison(const compiler::Facts& facts, std::size_t steps) {
  if (const auto worst = driver::worst_db(facts); worst && facts.comparison) {
    fmt::print("  SQNR        {:>11.1f} {}\n", *worst, driver::compared_text(*facts.comparison, steps));
  }
}

// What a caller's bytes represent.
void print_uint8(const std::vector<std::byte>& bytes, const std::string& output) {
  const ProgramFile program = program_from(bytes, output);
  for (const auto* tensors : {&program.inputs, &program.outputs}) {
    const char* const kind = tensors == &program.inputs ? "input" : "output";
    for (std::size_t i = 0; i < tensors->size(); ++i) {
      const ProgramTensor& tensor = (*tensors)[i];
      if (tensor.dtype != DType::u8 || !tensor.scale) continue;
      const bool is_unit = tensor.zero_point == 0 && std::lround(1 / *tensor.scale) == 255;
      const bool is_level = tensor.zero_point == 0 && *tensor.scale == 1;
      fmt::print("  {:<11} {:>11} is {:.7g} · (stored − {}){}\n", kind,
                 tensor.name.empty() ? std::to_string(i) : tensor.name, *tensor.scale, tensor.zero_point,
                 is_unit    ? ": pixel values 0 to 255 represent 0 to 1"
                 : is_level ? ": pixel values 0 to 255 unchanged"
                            : "");
    }
  }
}

void print_calibration(const driver::CalibrationFacts& facts) {
  std::string text;
  for (const driver::CalibrationInput& input : facts.inputs) {
    text += fmt::format("{}{} {:.4g} to {:.4g}", text.empty() ? "" : ", ", input.name, input.min, input.max);
  }
  const std::size_t samples = facts.samples / std::max<std::size_t>(1, facts.steps);
  fmt::print("  calibration {:>11} sample{}{}: {}\n", samples, samples == 1 ? "" : "s",
             facts.steps > 1 ? fmt::format(" of {} steps", facts.steps) : "", text);
}

// Layers that the requested scheme did not reach, by what they have instead and why. What has no weights never had any
// to pack.
void print_exceptions(const std::vector<quantizer::Decision>& decisions, const std::string& scheme) {
  using ByReason = std::map<std::string, std::vector<std::string>>;
  ByReason narrow, wide;
  std::size_t reached = 0;
  for (const quantizer::Decision& decision : decisions) {
    if (decision.precision == scheme) ++reached;
    if (decision.instead.empty() || decision.instead == quantizer::kNoWeights) continue;
    const std::string module = decision.source.substr(0, decision.source.find(" ("));
    ByReason& layers = decision.precision == ops::name_of(ops::Precision::w8a16) ? wide : narrow;
    layers[decision.instead].push_back(module.empty() ? decision.node : module);
  }
  fmt::print("  {:<11} {:>11} operator{}", scheme, reached, reached == 1 ? "" : "s");
  std::string before = "; ";
  for (const auto& [layers, bits] : {std::pair{&narrow, "8 bits"}, std::pair{&wide, "16-bit activations"}}) {
    if (layers->empty()) continue;
    fmt::print("{}these have {} instead:", before, bits);
    for (const auto& [reason, names] : *layers) fmt::print("\n              {}: {}", reason, fmt::join(names, ", "));
    before = fmt::format("\n{:26}", "");  // under the first
  }
  fmt::print("\n");
}

std::string percentage(std::optional<double> share) {
  return share ? fmt::format(" ({:+.0f} %)", *share * 100) : std::string();
}

void print_goal(const driver::Goal& goal, std::string_view name) {
  fmt::print("optimized for {}; compared with balanced, cycles {}\n", name, goal.measured ? "measured" : "estimated");
  for (const driver::GoalRow& row : goal.rows) {
    fmt::print("    {:<30} {:<36} {:>9} bytes", row.node, row.op, grouped_signed(row.constant_bytes));
    if (row.cycles) fmt::print(" {:>12} cycles{}", grouped_signed(*row.cycles), percentage(row.share));
    fmt::print("\n");
  }
  if (goal.rows.empty())
    fmt::print("  nothing to {}: the program is the same as balanced\n", name == "speed" ? "buy" : "save");
  fmt::print("  model       {:>11} bytes\n", grouped_signed(goal.model_bytes));
  if (goal.code_bytes) {
    fmt::print("  code        {:>11} bytes\n", grouped_signed(*goal.code_bytes));
  } else {
    fmt::print("  code        unknown: add --measure\n");
  }
  if (goal.cycles) fmt::print("  execute     {:>11} cycles{}\n", grouped_signed(*goal.cycles), percentage(goal.share));
}

}  // namespace

void print_summary(const driver::CompileFlags& flags, const driver::CompileResult& result, const std::string& output) {
  const compiler::Compiled& compiled = result.compiled;
  const compiler::Facts& facts = compiled.facts;
  const compiler::Options& options = result.options;
  const Firmware& firmware = result.firmware;
  const Target& target = options.config.target;
  int count = 0;
  for (const auto& [name, times] : facts.operators) count += times;
  fmt::print("compiled for {}, ISA {}\n", target.name(), target.is_any() ? "any" : name_of(target.isa));
  fmt::print("  operators   {:>11}   {} MACs{}\n", count, grouped(static_cast<std::uint64_t>(facts.macs)),
             facts.window_macs
                 ? fmt::format(" per hop, {} per window", grouped(static_cast<std::uint64_t>(*facts.window_macs)))
                 : "");
  for (const auto& [name, times] : facts.operators) fmt::print("    {:<44} {:>3}\n", name, times);
  if (options.io == compiler::Io::uint8) print_uint8(compiled.program, output);
  if (result.calibration) {
    print_calibration(*result.calibration);
    print_comparison(facts, options.calibration.steps);
  }
  if (facts.bits) {
    print_bits(*facts.bits);
  } else if (options.scheme != ops::Precision::w8a8) {
    print_exceptions(facts.decisions, std::string(ops::name_of(options.scheme)));
  }
  if (options.stream && options.stream->causal) {
    const double worst = facts.causal_db.empty() ? 0 : std::ranges::min(facts.causal_db);
    if (facts.causal_db.empty()) {
      fmt::print("  causal          unknown: --calibrate provides windows to compare the stream with\n");
    } else if (!std::isfinite(worst)) {
      fmt::print("  causal            equal to the window's results for these samples\n");
    } else {
      fmt::print("  causal      {:>11.1f} dB for the worst output against the window's, over {} of these samples\n",
                 worst, std::min<std::size_t>(compiler::kStreamed, options.calibration.count));
    }
  }
  if (facts.dropped_channels != 0) {
    fmt::print("  dropped     {:>11} channels that are the same for every input\n", grouped(facts.dropped_channels));
  }
  fmt::print("  model       {:>11} bytes, {} of them constants\n", grouped(compiled.program.size()),
             grouped(static_cast<std::uint64_t>(facts.constant_bytes)));
  for (const emit::RegionFacts& region : facts.regions) {
    fmt::print("  arena       {:>11} bytes in {}", grouped(static_cast<std::uint64_t>(region.bytes)), region.name);
    if (!region.peak_node.empty()) {
      fmt::print(" (lower bound {}; peak at {})", grouped(static_cast<std::uint64_t>(region.lower_bound)),
                 region.peak_node);
    }
    fmt::print("\n");
    if (region.constant_bytes != 0) {
      fmt::print("              {:>11} of them for copies of the constants\n",
                 grouped(static_cast<std::uint64_t>(region.constant_bytes)));
    }
  }
  if (facts.buffer_bytes != 0) {
    fmt::print("              {:>11} of them for the model's state, which persists between executions\n",
               grouped(static_cast<std::uint64_t>(facts.buffer_bytes)));
  }
  if (!facts.counters.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, dtype] : facts.counters) names.push_back(fmt::format("{} ({})", name, name_of(dtype)));
    fmt::print("              buffers of integers, which stay as they are: {}\n", fmt::join(names, ", "));
  }
  print_firmware(firmware, compiled, target);
  if (flags.measure && firmware.facts)
    fmt::print("  measured    {:>11} bytes of stack\n", grouped(firmware.facts->stack_bytes));
  if (flags.explain && firmware.facts && firmware.facts->stack_bound) print_stack_path(*firmware.facts->stack_bound);
  if (facts.rows) print_rows(*facts.rows, options.curve);
  if (!output.empty()) fmt::print("  written to  {}\n", output);
  if (result.goal) print_goal(*result.goal, name_of(target.optimize));
}

void print_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) fmt::print(stderr, "{} {}\n", warning_label(), warning);
}

void print_warnings(const driver::Warnings& warnings) {
  print_warnings(warnings.texts);
  for (const compiler::FloatOperator& op : warnings.float_operators) {
    fmt::print(stderr, "float: {} ({}) at {}: {}\n", op.node, op.op, op.source, op.reason);
  }
}

void print_methods(const driver::CompiledMethods& compiled, const std::string& output) {
  const driver::MethodTotals totals = driver::totals_of(compiled);
  std::size_t alone = 0;
  for (const driver::CompileResult& method : compiled.methods) alone += method.compiled.program.size();
  fmt::print("{} methods in one program: {}\n", compiled.names.size(), fmt::join(compiled.names, ", "));
  fmt::print("  model       {:>11} bytes ({} as programs of their own)\n", grouped(compiled.program.size()),
             grouped(alone));
  for (const auto& [name, bytes] : compiled.arenas) {
    fmt::print("  arena       {:>11} bytes in {}, which all share: one executes at a time\n", grouped(bytes), name);
  }
  if (totals.is_linked) {
    fmt::print("  flash       {:>11} bytes: code {} and model\n", grouped(totals.code + compiled.program.size()),
               grouped(totals.code));
    fmt::print("  RAM         {:>11} bytes: arena, state {} and stack {}\n",
               grouped(totals.arena + totals.state + totals.stack), grouped(totals.state), grouped(totals.stack));
  }
  fmt::print("  written to  {}\n", output);
}

}  // namespace cormorant::cli
