// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/diagnostic.h"
#include "base/output_file.h"
#include "cli/cli.h"
#include "cli/compile_model.h"
#include "cli/goal.h"
#include "cli/methods.h"
#include "cli/quantization.h"
#include "cli/remedies.h"
#include "cli/terminal.h"
#include "compiler/import.h"
#include "compiler/samples.h"
#include "planner/memory.h"
#include "program/budget.h"
#include "program/bundle_io.h"
#include "program/files.h"
#include "program/firmware_table.h"
#include "program/json.h"
#include "program/names.h"
#include "quantizer/adopt.h"
#include "quantizer/copy.h"
#include "report/explain.h"
#include "report/report.h"
#include "target/parse.h"

namespace cormorant::cli {
namespace {

constexpr std::size_t kCompared = 8;          // calibration samples, for the SQNR that compile reports
constexpr std::size_t kComparedToLimit = 16;  // the same where something depends on it

// What only a program for one CPU and our runtime can have.
void require_own_runtime(const ops::Config& config, std::string_view option) {
  if (config.runtime != ops::Runtime::cormorant) {
    throw UsageError(
        fmt::format("{0} is not supported with --runtime=executorch\n  remove {0} or --runtime=executorch", option));
  }
  if (config.target.is_any()) {
    throw UsageError(fmt::format("{} needs a specific CPU, not --target=any\n  name the CPU with --target", option));
  }
}

// The region for copies of the constants; none for flash, where they are anyway.
std::optional<std::uint32_t> constants_region(const CompileFlags& flags, const compiler::Options& options) {
  if (flags.weights_in == "flash") return std::nullopt;
  std::vector<std::string> names;
  for (const planner::Region& region : options.memory) names.push_back(region.name);
  const auto found = std::ranges::find(names, flags.weights_in);
  if (found == names.end()) {
    names.insert(names.begin(), "flash");
    throw UsageError(
        fmt::format("--weights-in={} names an unknown region: there is {}\n  define the regions with --memory, for "
                    "example --memory={}=512K",
                    flags.weights_in, fmt::join(names, ", "), flags.weights_in));
  }
  if (options.config.runtime != ops::Runtime::cormorant) {
    throw UsageError(
        "--weights-in is not supported with --runtime=executorch\n  remove --weights-in or --runtime=executorch");
  }
  return static_cast<std::uint32_t>(found - names.begin());
}

Optimize parse_optimize(std::string_view text) {
  return text == "speed" ? Optimize::speed : text == "size" ? Optimize::size : Optimize::balanced;
}

// AXIS or AXIS:HOP.
passes::StreamOptions parse_stream(const std::string& text) {
  passes::StreamOptions stream;
  const std::size_t colon = text.find(':');
  const auto number = [&](std::string_view part, std::int64_t& to) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), to);
    return error == std::errc() && end == part.data() + part.size();
  };
  const std::string_view whole = text;
  if (!number(whole.substr(0, colon), stream.axis) ||
      (colon != std::string::npos && !number(whole.substr(colon + 1), stream.hop))) {
    throw UsageError("--stream takes AXIS or AXIS:HOP, two integers, not '" + text + "'");
  }
  return stream;
}

// x=1,3,96,96
pt2::Shapes parse_shapes(const std::vector<std::string>& flags) {
  pt2::Shapes shapes;
  for (const std::string& flag : flags) {
    const std::size_t equals = flag.find('=');
    std::vector<std::int64_t> shape;
    bool is_good = equals != std::string::npos && equals > 0;
    for (std::size_t at = equals + 1; is_good && at <= flag.size();) {
      const std::size_t comma = std::min(flag.find(',', at), flag.size());
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(flag.data() + at, flag.data() + comma, size);
      is_good = error == std::errc() && end == flag.data() + comma && size > 0;
      shape.push_back(size);
      at = comma + 1;
    }
    if (!is_good) {
      throw UsageError(fmt::format(
          "'--shape {}' is not a shape\n  give an input's name and its dimensions: --shape x=1,3,96,96", flag));
    }
    shapes[flag.substr(0, equals)] = std::move(shape);
  }
  return shapes;
}

compiler::Options options_of(const CompileFlags& flags, const CompileInputs& inputs) {
  compiler::Options options;
  options.config.target = parse_target(flags.target, flags.isa);
  options.config.target.optimize = parse_optimize(flags.optimize);
  options.config.runtime = flags.runtime == "executorch" ? ops::Runtime::executorch : ops::Runtime::cormorant;
  options.io = flags.io == "int8"    ? compiler::Io::int8
               : flags.io == "uint8" ? compiler::Io::uint8
               : flags.io == "int16" ? compiler::Io::int16
                                     : compiler::Io::as_model;
  options.quantize = flags.quantize || !flags.calibrate.empty() || inputs.calibration != nullptr;
  options.strict = flags.strict;
  apply(flags.quantization, options);
  if (flags.quantization.names_layers() && !options.quantize) {
    throw UsageError("--float-layers and --layers need a quantized model\n  add --calibrate FILE (or --quantize)");
  }
  if (flags.optimize == "ram") {
    require_own_runtime(options.config, "--optimize=ram");
    options.rows.emplace();
  }
  if (flags.feed == "rows") {
    require_own_runtime(options.config, "--feed=rows");
    if (!flags.stream.empty()) {
      throw UsageError(
          "--feed=rows and --stream cannot be combined: both define how the input arrives\n  remove one of them");
    }
    // A user without room for an image wants to save memory elsewhere too, unless another goal is given.
    const bool has_other_goal = flags.optimize == "speed" || flags.optimize == "size" || !flags.budget.empty();
    const bool least = flags.optimize == "ram" || !has_other_goal;
    options.rows = {.bytes = least ? std::nullopt : std::optional(compiler::kAnyBytes), .feed = true};
  }
  if (flags.recompute > 1 && !options.rows && flags.budget.find("ram") == std::string::npos) {
    throw UsageError(
        "--recompute has no effect on its own\n  add --optimize=ram, --feed=rows or --budget=ram=SIZE, or remove it");
  }
  if (options.rows) options.rows->recompute = flags.recompute;
  if (!flags.stream.empty()) options.stream = parse_stream(flags.stream);
  options.curve = flags.explain;
  if (flags.stream_causal && !options.stream) {
    throw UsageError("--stream-causal needs --stream\n  add --stream=AXIS[:HOP]");
  }
  if (options.stream) options.stream->causal = flags.stream_causal;
  options.explain = flags.explain || flags.names || !flags.report.empty();
  options.intermediates = flags.intermediates;
  if (!flags.memory.empty()) options.memory = planner::parse_memory(flags.memory);
  options.constants_in = constants_region(flags, options);
  if (options.io != compiler::Io::as_model && !options.quantize) {
    throw UsageError("--io=" + flags.io + " needs a quantized model\n  add --calibrate FILE (or --quantize)");
  }
  const bool wide = options.scheme == ops::Precision::w8a16;
  if ((options.scheme != ops::Precision::w8a8 || options.bits) && !options.quantize) {
    throw UsageError("--scheme needs a quantized model\n  add --calibrate FILE (or --quantize)");
  }
  if (options.bits && (options.config.runtime != ops::Runtime::cormorant || options.config.target.is_any())) {
    throw UsageError(
        "--scheme=auto needs a specific CPU and our own runtime\n  name a scheme, or the CPU with --target");
  }
  if (flags.min_sqnr && !std::isfinite(*flags.min_sqnr)) {
    throw UsageError("--min-sqnr is not a number of decibels\n  give one, for example --min-sqnr=30");
  }
  if (flags.min_sqnr && flags.calibrate.empty() && inputs.calibration == nullptr) {
    throw UsageError("--min-sqnr needs calibration data to measure on\n  add --calibrate FILE");
  }
  if (options.io != compiler::Io::as_model && (options.io == compiler::Io::int16) != wide) {
    throw UsageError(
        fmt::format("--io={} cannot be combined with --scheme={}\n  inputs and outputs have the activations' type: use "
                    "--io={} or --io=float",
                    flags.io, flags.quantization.scheme, wide ? "int16" : "int8"));
  }
  if (options.io == compiler::Io::uint8 && options.config.runtime != ops::Runtime::cormorant) {
    throw UsageError(
        "--io=uint8 is not supported with --runtime=executorch\n  use --io=int8 and flip the highest bit of every "
        "byte");
  }
  return options;
}

// --output is a file, or a folder for one that has the model's name.
std::string output_of(const CompileFlags& flags, const std::string& model) {
  std::filesystem::path path = flags.output;
  if (path.empty() || std::filesystem::is_directory(path))
    path /= std::filesystem::path(model).stem().string() + ".pte";
  if (flags.bundles()) path.replace_extension(".bpte");
  return path.string();
}

std::vector<std::byte> bundle(const CompileFlags& flags, const compiler::Compiled& compiled, const std::string& model) {
  const ProgramFile program = program_from(compiled.program, model);
  return pte::write_bundle(flags.bundle.empty() ? make_random_bundle(program)
                                                : make_bundle(program, npy::read_data_set(flags.bundle)));
}

// MACs executed divided by the model's.
double recompute_of(const compiler::Facts& facts) {
  if (!facts.rows || facts.macs == 0) return 1;
  return 1 + static_cast<double>(facts.rows->extra_macs) / static_cast<double>(facts.macs);
}

double percent_more(const compiler::RowsFacts& rows, std::int64_t extra) {
  return rows.work_by_layer == 0 ? 0 : 100.0 * static_cast<double>(extra) / static_cast<double>(rows.work_by_layer);
}

// What memory was saved, and what that costs in time; with the curve also the alternatives.
void print_rows(const compiler::RowsFacts& rows, bool with_curve) {
  const auto number = [](std::int64_t value) { return grouped(static_cast<std::uint64_t>(value)); };
  if (rows.groups != 0) {
    fmt::print(
        "  by rows     {:>11} of the operators, in {} group{}: {} bytes instead of {} layer by layer, for {} more "
        "cycles ({:.1f} %, estimated)\n",
        rows.nodes, rows.groups, rows.groups == 1 ? "" : "s", number(rows.bytes), number(rows.bytes_by_layer),
        number(rows.extra), percent_more(rows, rows.extra));
    if (rows.extra_macs != 0)
      fmt::print("              {:>11} MACs computed more than once\n", number(rows.extra_macs));
  }
  if (!with_curve || rows.curve.size() < 2) return;
  fmt::print("  memory against time, estimated: every choice that no other one beats\n");
  for (const compiler::RowsPoint& point : rows.curve) {
    fmt::print("              {:>11} bytes  {:>+6.1f} %  {}{}\n", number(point.bytes), percent_more(rows, point.extra),
               point.nodes == 0 ? "layer by layer" : fmt::format("{} of the operators by rows", point.nodes),
               rows.groups != 0 && point.bytes == rows.bytes ? ", chosen" : "");
  }
}

nlohmann::ordered_json rows_json(const compiler::RowsFacts& rows, bool with_curve) {
  nlohmann::ordered_json json = {{"groups", rows.groups},
                                 {"operators", rows.nodes},
                                 {"bytes", rows.groups != 0 ? rows.bytes : rows.bytes_by_layer},
                                 {"bytes_by_layer", rows.bytes_by_layer},
                                 {"extra_cycles", rows.extra},
                                 {"extra_percent", percent_more(rows, rows.extra)}};
  if (!with_curve) return json;
  json["curve"] = nlohmann::ordered_json::array();
  for (const compiler::RowsPoint& point : rows.curve) {
    json["curve"].push_back({{"bytes", point.bytes},
                             {"extra_cycles", point.extra},
                             {"extra_percent", percent_more(rows, point.extra)},
                             {"operators", point.nodes}});
  }
  return json;
}

// What --json prints, without the explanation.
nlohmann::ordered_json figures_of(const compiler::Compiled& compiled, const compiler::Options& options,
                                  const Firmware& firmware, bool measured, const std::optional<Goal>& goal) {
  const compiler::Facts& facts = compiled.facts;
  nlohmann::ordered_json json;
  json["target"] = options.config.target.name();
  json["isa"] = options.config.target.is_any() ? "any" : name_of(options.config.target.isa);
  json["scheme"] = options.bits ? "auto" : ops::name_of(options.scheme);
  if (facts.bits) json["bits"] = bits_json(*facts.bits);
  json["operators"] = facts.operators;
  json["float_operators"] = nlohmann::json::array();
  for (const compiler::FloatOperator& op : facts.float_operators) {
    json["float_operators"].push_back(
        {{"node", op.node}, {"operator", op.op}, {"source", op.source}, {"reason", op.reason}});
  }
  json["model_bytes"] = compiled.program.size();
  json["constant_bytes"] = facts.constant_bytes;
  std::int64_t lower_bound = 0;
  json["arena_bytes"] = nlohmann::ordered_json::object();
  json["peaks"] = nlohmann::ordered_json::object();
  for (const emit::RegionFacts& region : facts.regions) {
    json["arena_bytes"][region.name] = region.bytes;
    json["peaks"][region.name] = region.peak_node;
    lower_bound += region.lower_bound;
  }
  json["arena_lower_bound"] = lower_bound;
  if (options.constants_in) json["weights_in"] = facts.regions[*options.constants_in].name;
  json["scratch_bytes"] = facts.scratch_bytes;
  json["buffer_bytes"] = facts.buffer_bytes;
  json["macs"] = facts.macs;
  json["recompute"] = recompute_of(facts);
  if (facts.window_macs) json["window_macs"] = *facts.window_macs;
  if (options.stream && options.stream->causal) {
    json["causal_sqnr_db"] = nlohmann::json::array();
    for (const double db : facts.causal_db) {
      json["causal_sqnr_db"].emplace_back(number_or_null(db));
    }
  }
  json["dropped_channels"] = facts.dropped_channels;
  if (facts.rows) json["rows"] = rows_json(*facts.rows, options.curve);
  json["firmware"] = firmware_json(firmware, options.config.target);
  if (measured) {
    json["measured"] = {{"code", firmware.facts->code_bytes},
                        {"state", firmware.facts->state_bytes},
                        {"stack", firmware.facts->stack_bytes}};
  }
  if (goal) json["optimize"] = goal_json(*goal, name_of(options.config.target.optimize));
  for (const auto& [stage, seconds] : facts.seconds) json["seconds"][stage] = seconds;
  return json;
}

// Per output, on calibration data; null without noise.
nlohmann::json output_db_json(const compiler::Facts& facts) {
  nlohmann::json outputs = nlohmann::json::array();
  if (!facts.comparison) return outputs;
  for (const double db : facts.comparison->output_db) {
    outputs.emplace_back(number_or_null(db));
  }
  return outputs;
}

// The worst output's; none where nothing was compared, or nothing differs.
std::optional<double> worst_db(const compiler::Facts& facts) {
  if (!facts.comparison || facts.comparison->output_db.empty()) return std::nullopt;
  const double worst = std::ranges::min(facts.comparison->output_db);
  return std::isfinite(worst) ? std::optional(worst) : std::nullopt;
}

std::string compared_text(const compiler::Comparison& comparison) {
  const char* const output = comparison.output_db.size() == 1 ? "output" : "worst output";
  if (comparison.samples == 1)
    return fmt::format("dB for the {} (only one sample: of the whole output, not of what varies)", output);
  return fmt::format("dB for the {}, over {} of these samples", output, comparison.samples);
}

void print_comparison(const compiler::Facts& facts) {
  if (const auto worst = worst_db(facts)) {
    fmt::print("  SQNR        {:>11.1f} {}\n", *worst, compared_text(*facts.comparison));
  }
}

std::string comparison_text(const compiler::Facts& facts) {
  const auto worst = worst_db(facts);
  return worst ? fmt::format("{:.1f} {}", *worst, compared_text(*facts.comparison)) : "not known";
}

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

void print_summary(const compiler::Compiled& compiled, const compiler::Options& options, const std::string& output,
                   const Firmware& firmware, bool measured, bool explain, const std::optional<Goal>& goal,
                   const std::optional<CalibrationFacts>& calibration) {
  const compiler::Facts& facts = compiled.facts;
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
  if (calibration) print_calibration(*calibration);
  if (calibration) print_comparison(facts);
  if (facts.bits) print_bits(*facts.bits);
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
  print_firmware(firmware, compiled, target);
  if (measured) fmt::print("  measured    {:>11} bytes of stack\n", grouped(firmware.facts->stack_bytes));
  if (explain && firmware.facts && firmware.facts->stack_bound) print_stack_path(*firmware.facts->stack_bound);
  if (facts.rows) print_rows(*facts.rows, options.curve);
  if (!output.empty()) fmt::print("  written to  {}\n", output);
  if (goal) print_goal(*goal, name_of(target.optimize));
}

void print_warnings(const compiler::Facts& facts) {
  for (const std::string& warning : facts.warnings) fmt::print(stderr, "{} {}\n", warning_label(), warning);
  for (const compiler::FloatOperator& op : facts.float_operators) {
    fmt::print(stderr, "float: {} ({}) at {}: {}\n", op.node, op.op, op.source, op.reason);
  }
}

// A program, and the options that it was compiled with: those of the command line, or others that serve its goal
// better.
struct Candidate {
  compiler::Options options;
  compiler::Compiled compiled = {};
};

// A model after quantization, of which several programs are compiled.
struct Quantized {
  ir::Graph graph;
  compiler::Facts facts;

  // The stages' graphs are written for the program that is taken.
  [[nodiscard]] Candidate compile(compiler::Options options) const {
    const std::filesystem::path folder = std::exchange(options.intermediates, {});
    ir::Graph copy = quantizer::copy_of(graph);
    Candidate candidate{std::move(options)};
    candidate.compiled = compiler::Compilation(copy, candidate.options, facts).finish();
    candidate.options.intermediates = folder;
    return candidate;
  }
  // Where another program has written them before.
  void write_stages(const compiler::Options& options) const {
    if (options.intermediates.empty()) return;
    ir::Graph copy = quantizer::copy_of(graph);
    compiler::Compilation(copy, options, facts).finish();
  }
};

struct Programs {
  Candidate chosen;
  std::optional<Candidate> balanced;   // beside another goal
  std::optional<Quantized> quantized;  // where another program may be taken
};

// Bytes of state and stack, if they are known.
using BesidesArena = std::function<std::optional<std::int64_t>(const compiler::Compiled&)>;

// All RAM. State and stack are estimated if they are unknown, or make no difference: more than `ram` is too much
// anyway.
std::int64_t ram_of(const compiler::Compiled& compiled, std::int64_t ram, const BesidesArena& besides) {
  constexpr std::int64_t kStack = 1032, kPerOperator = 40;
  const std::int64_t arena = compiler::arena_bytes(compiled.facts);
  const std::int64_t estimate = kStack + kPerOperator * static_cast<std::int64_t>(compiled.facts.steps.size());
  return arena + (arena < ram ? besides(compiled).value_or(estimate) : estimate);
}

// Where the program exceeds its budget of memory: the one with least extra work that does not, of those that compute
// rows; the smallest, if all do. What a program needs is estimated before it is compiled, so it may take several.
void keep_within(std::int64_t ram, double recompute, const Quantized& model, const BesidesArena& besides,
                 Candidate& chosen) {
  constexpr int kMostAttempts = 4;
  std::int64_t needed = ram_of(chosen.compiled, ram, besides);
  std::int64_t limit = compiler::arena_bytes(chosen.compiled.facts) - (needed - ram);
  compiler::Options options = chosen.options;
  const bool feed = options.rows && options.rows->feed;
  for (int attempt = 0; needed > ram && attempt < kMostAttempts; ++attempt) {
    options.rows =
        compiler::RowsOptions{.bytes = std::max<std::int64_t>(limit, 0), .feed = feed, .recompute = recompute};
    Candidate other = model.compile(options);
    const std::int64_t others = ram_of(other.compiled, ram, besides), bytes = other.compiled.facts.rows->bytes;
    if (others < needed) {
      chosen = std::move(other);
      needed = others;
    }
    if (bytes > limit) return;  // there is no smaller one
    limit = bytes - (others - ram);
  }
}

// Computing rows has its own price in memory: small networks may need less without it.
void keep_within_layers(const Quantized& model, Candidate& chosen) {
  compiler::Options options = chosen.options;
  options.rows.reset();
  Candidate layers = model.compile(std::move(options));
  const compiler::Facts& rows = chosen.compiled.facts;
  const std::int64_t saved = compiler::arena_bytes(layers.compiled.facts) - compiler::arena_bytes(rows);
  if (saved < 0 || (saved == 0 && rows.rows->groups != 0)) chosen = std::move(layers);
}

std::string why_no_rows(const compiler::Facts& facts, bool is_wide) {
  return fmt::format(
      "--optimize=ram has no effect: only convolutions, pooling and elementwise layers of images with 8-bit "
      "activations can be computed by rows; this model{}",
      facts.decisions.empty() ? "'s layers are computed in float"
      : is_wide               ? "'s layers have 16-bit activations (--scheme=8w16a)"
                              : " has none");
}

// Stages know nodes, not files.
Programs compile(ir::Graph& graph, const compiler::Options& options, const std::optional<std::uint64_t>& ram,
                 const BesidesArena& besides, double recompute, const std::string& model) {
  try {
    compiler::Compilation compilation(graph, options);
    compilation.quantize();
    const bool has_goal = options.config.target.optimize != Optimize::balanced;
    const bool may_do_without_rows = options.rows && !options.rows->bytes && !options.rows->feed;
    const bool may_compute_rows = ram && options.config.runtime == ops::Runtime::cormorant &&
                                  !options.config.target.is_any() && options.memory.size() <= 1;
    Programs programs{.chosen = {options}, .balanced = {}, .quantized = {}};
    if (has_goal || may_do_without_rows || may_compute_rows)
      programs.quantized.emplace(quantizer::copy_of(graph), compilation.facts());
    if (has_goal) {
      compiler::Options balanced = options;
      balanced.config.target.optimize = Optimize::balanced;
      programs.balanced = programs.quantized->compile(std::move(balanced));
    }
    Candidate& chosen = programs.chosen;
    chosen.compiled = compilation.finish();
    const std::vector<std::byte> first = chosen.compiled.program;
    if (may_do_without_rows) {
      const compiler::RowsFacts rows = *chosen.compiled.facts.rows;
      keep_within_layers(*programs.quantized, chosen);
      const bool is_wide = options.scheme == ops::Precision::w8a16;  // conversions remain that could be
      if (rows.groups == 0 && (rows.able == 0 || is_wide))
        chosen.compiled.facts.warnings.push_back(why_no_rows(chosen.compiled.facts, is_wide));
    }
    if (may_compute_rows) keep_within(static_cast<std::int64_t>(*ram), recompute, *programs.quantized, besides, chosen);
    if (chosen.compiled.program != first) programs.quantized->write_stages(chosen.options);
    return programs;
  } catch (const InputError& error) {
    Diagnostic diagnostic = error.diagnostic();
    if (diagnostic.file.empty()) diagnostic.file = model;
    throw InputError(std::move(diagnostic));
  }
}

// The files that are read may not be written.
void check_files(const CompileFlags& flags, const std::string& model, const std::string& output) {
  require_writable(output);
  if (!flags.report.empty()) require_writable(flags.report);
  const std::vector<NamedFile> inputs = {{"the model", model},
                                         {"the model's weights file", model + ".data"},
                                         {"--calibrate", flags.calibrate},
                                         {"--bundle", flags.bundle},
                                         {"--layers", flags.quantization.layers_file}};
  require_other_file({"--output", output}, inputs);
  require_other_file({"--output", names_file(output)}, inputs);
  require_other_file({"--report", flags.report}, inputs);
  require_other_file({"--report", flags.report}, {{"--output", output}});
}

// All methods of a file, in one program.
void run_methods(const CompileFlags& flags, const CompileInputs& inputs, const std::vector<std::string>& names,
                 const std::string& output) {
  const CompiledMethods compiled = compile_methods(flags, inputs, names);
  std::vector<MethodNames> steps;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const CompileResult& method = compiled.methods[i];
    if (!flags.quiet) print_warnings(method.compiled.facts);
    steps.push_back({names[i], method.compiled.facts.steps, method.explanation});
  }
  write_output(output, compiled.program);
  if (flags.names) write_names(output, compiled.program, steps);
  if (flags.json) {
    nlohmann::ordered_json json = compiled.figures;
    for (const MethodNames& method : steps) {
      if (flags.explain) json["methods"][method.method].update(method.explanation);
    }
    fmt::print("{}\n", json.dump(2));
  } else if (!flags.quiet) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const CompileResult& method = compiled.methods[i];
      fmt::print("method {}: ", names[i]);
      if (flags.explain) print_explanation(method.explanation);
      print_summary(method.compiled, method.options, "", method.firmware, flags.measure, flags.explain, method.goal,
                    method.calibration);
    }
    print_methods(compiled, output);
  }
}

void run(const CompileFlags& flags) {
  if (flags.delegate) {
    fmt::print(stderr, "{} --delegate is ignored: cormorant has no delegates; every operator runs on the CPU\n",
               warning_label());
  }
  const std::string model = find_model(flags.model);
  const std::string output = output_of(flags, model);
  check_files(flags, model, output);
  CompileInputs inputs;
  if (!flags.json && !flags.quiet) inputs.progress = terminal_progress();
  options_of(flags, inputs);  // what is wrong with the command comes before what is wrong with the file
  const std::vector<std::string> methods =
      flags.method.empty() ? compiler::method_names(model) : std::vector<std::string>();
  if (methods.size() > 1) return run_methods(flags, inputs, methods, output);
  const CompileResult result = compile_model(flags, inputs);
  const compiler::Compiled& compiled = result.compiled;
  if (!flags.report.empty()) write_output(flags.report, report_page(flags, result));
  if (!flags.quiet) print_warnings(compiled.facts);
  if (result.excess) throw InputError(*result.excess);  // after the report, which shows where it goes
  write_output(output, flags.bundles() ? bundle(flags, compiled, model) : compiled.program);
  if (flags.names) write_names(output, compiled.program, compiled.facts.steps, result.explanation);
  if (flags.json) {
    nlohmann::ordered_json json = result.figures;
    if (flags.explain) json.update(result.explanation);
    fmt::print("{}\n", json.dump(2));
  } else if (!flags.quiet) {
    if (flags.explain) print_explanation(result.explanation);
    print_summary(compiled, result.options, output, result.firmware, flags.measure, flags.explain, result.goal,
                  result.calibration);
  }
}

}  // namespace

namespace {

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
  const auto known = std::make_shared<std::map<std::vector<std::string>, std::optional<RunResult>>>();
  bits.footprint = [known, request, target = result.options.config.target](const compiler::Compiled& compiled) {
    std::vector<std::string> operators;
    for (const auto& [name, times] : compiled.facts.operators) operators.push_back(name);
    const auto [at, is_new] = known->try_emplace(std::move(operators));
    if (is_new) at->second = link_for(compiled.program, target, request).facts;
    const Needs needs = needs_of(compiled, at->second);
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
  CompileResult result;
  compiler::Options& options = result.options = options_of(flags, inputs);
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
                                   .link = flags.link && options.config.runtime == ops::Runtime::cormorant,
                                   .execute = flags.measure,
                                   .cycles = !flags.report.empty() || has_goal};
  if (options.bits) set_limits(flags, result, request);

  const bool of_later_stage = std::filesystem::path(model).extension() != ".pt2" && is_of_later_stage(graph);
  if (of_later_stage) check_program_operators(graph, options.config, model);
  const auto besides = [&](const compiler::Compiled& program) -> std::optional<std::int64_t> {
    FirmwareRequest only_link = request;
    only_link.execute = only_link.cycles = false;
    const auto facts = link_for(program.program, options.config.target, only_link).facts;
    if (!facts) return std::nullopt;
    return static_cast<std::int64_t>(facts->state_bytes + stack_needed(*facts));
  };
  Programs programs =
      compile(graph, options, result.budget ? result.budget->ram : std::nullopt, besides, flags.recompute, model);
  compiler::Compiled& compiled = programs.chosen.compiled;
  const std::optional<Candidate>& balanced = programs.balanced;
  require_loadable(compiled.program, model, of_later_stage);
  if (flags.min_sqnr) require_sqnr(*flags.min_sqnr, flags.quantization.scheme, compiled.facts, model);
  Firmware& firmware = result.firmware = link_for(compiled.program, options.config.target, request);
  std::optional<Firmware> balanced_firmware;
  if (balanced && firmware.facts && (flags.measure || options.config.target.optimize == Optimize::size)) {
    balanced_firmware = link_for(balanced->compiled.program, options.config.target, request);
    const auto exceeds = [&](const compiler::Compiled& program, const Firmware& linked) {
      return result.budget && over_budget(*result.budget, program, linked.facts);
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
  if (result.budget) result.excess = over_budget(*result.budget, compiled, firmware.facts);
  if (result.excess && inputs.advises) {
    const bool lacks_flash = result.budget->flash && needs_of(compiled, firmware.facts).flash > *result.budget->flash;
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

void add_compile_options(CLI::App& command, CompileFlags& flags) {
  // Not CLI11's required(), which help would show for both spellings.
  command.add_option("model,-m,--model_name", flags.model,
                     "The model, as the argument or by -m: a .pt2 written by torch.export.save, a program (.pte) to "
                     "recompile, a graph as text (.txt), or the name of a zoo model");
  command.add_option("-t,--target", flags.target, "CPU: cortex-m0 … cortex-m85, or any")->capture_default_str();
  command.add_option("--isa", flags.isa, "Override the CPU's instruction set: scalar, dsp or mve");
  command.add_option("-o,--output", flags.output,
                     "The program to write, or a folder for it (default: the model's name with .pte)");
  command.add_option("--method", flags.method,
                     "Compile only this method, of a file with several; by default all become one program");
  command.add_flag("-q,--quantize", flags.quantize, "Quantize to integers (implied by --calibrate)");
  command.add_flag(
      "--sequence", flags.sequence,
      "Calibration arrays are [samples, steps, …], where … is the input's whole shape: the model's state is "
      "kept along the steps and reset between samples");
  command.add_option("--stream", flags.stream,
                     "AXIS[:HOP] of the first input: turn a network over a window into a program that takes HOP new "
                     "entries along that axis per execution (default 1) and keeps the rest");
  command
      .add_option("--feed", flags.feed,
                  "How the input arrives: whole, or by rows as from a camera (cormorant_push_rows), so that the whole "
                  "image is never in memory; implies --optimize=ram unless another goal is given")
      ->check(CLI::IsMember({"whole", "rows"}))
      ->capture_default_str();
  command
      .add_option("--recompute", flags.recompute,
                  "With --optimize=ram, --feed=rows or --budget=ram=…: compute up to FACTOR times the model's MACs "
                  "where that saves memory; outputs do not change")
      ->check(CLI::Range(1.0, 100.0))
      ->capture_default_str();
  command.add_flag("--stream-causal", flags.stream_causal,
                   "Also stream layers that pad the window's edge, and recurrent layers with continuing state: results "
                   "then differ from the window's");
  command.add_option(
      "--calibrate", flags.calibrate,
      "Representative inputs: .npz (one array per input, or x; METHOD.INPUT if there are several methods) or "
      "a folder of .npy");
  command.add_option("--io", flags.io, "Type of the program's inputs and outputs")
      ->check(CLI::IsMember({"float", "int8", "uint8", "int16"}))
      ->capture_default_str();
  command.add_option("--runtime", flags.runtime, "Which runtime executes the program")
      ->check(CLI::IsMember({"cormorant", "executorch"}))
      ->capture_default_str();
  command
      .add_option("--shape", flags.shapes, "Shape of an input with dynamic dimensions: NAME=D,D,… or METHOD.NAME=D,D,…")
      ->allow_extra_args(false);
  command.add_option("--memory", flags.memory, "Memory regions in order of preference: dtcm=64K,sram=1M");
  command.add_option("-i,--intermediates", flags.intermediates,
                     "Write the graph as text to this folder after every stage");
  command.add_flag("--explain", flags.explain,
                   "For every node, show which rule applied, with which parameters, or why it stays in float; and what "
                   "less memory would cost in time");
  add_quantization(command, flags.quantization, "--layers,--layer-settings", true);
  command.add_option(
      "--min-sqnr", flags.min_sqnr,
      "Minimum SQNR in dB of the worst output on calibration data; less is an error. With --scheme=auto, "
      "layers get the bits this takes");
  command.add_flag("--strict", flags.strict, "Treat an operator left in float as an error");
  command.add_option("--bundle", flags.bundle,
                     "Write a bundled program (.bpte) with the inputs x of this .npz and the expected outputs y");
  command.add_flag("--bundleio", flags.bundle_io, "The same with a random input");
  command.add_option(
      "--report", flags.report,
      "Write an HTML report on flash and RAM, the arena over time, and every layer's cost and quantization");
  command
      .add_option("--optimize", flags.optimize,
                  "What to optimize for: speed (larger constants, more code), size (fewest kernels) or balanced; ram: "
                  "the least memory for tensors, with chains of layers computed row by row")
      ->check(CLI::IsMember({"speed", "size", "ram", "balanced"}))
      ->capture_default_str();
  command.add_option("--budget", flags.budget,
                     "Limits that are an error to exceed: ram=64K,flash=256K; code, state and stack count if they are "
                     "known. If memory does not suffice, chains of layers are computed row by row");
  command.add_flag("--measure", flags.measure,
                   "Run the firmware once on the emulated board and report how deep the stack was, next to its bound");
  command.add_flag_callback(
      "--link", [&flags] { flags.link = true; }, "Link firmware to determine code, state and stack");
  command.add_flag_callback(
      "--no-link", [&flags] { flags.link = false; }, "Do not link firmware: code, state and stack stay unknown");
  command.add_option("--compiler", flags.compiler, "Compiler whose kernel archives are linked for these figures")
      ->check(CLI::IsMember({"gcc", "clang"}))
      ->capture_default_str();
  command
      .add_option("--weights-in", flags.weights_in,
                  "Where kernels read constants from: flash, or a region of --memory to which they are copied at load")
      ->capture_default_str();
  command.add_flag_callback(
      "--no-names", [&flags] { flags.names = false; },
      "Do not write OUTPUT.names.json, which run --profile reads for the names of nodes and source lines");
  command.add_flag("-d,--delegate", flags.delegate, "Accepted for compatibility with ExecuTorch; ignored");
  command.add_flag("--quiet", flags.quiet, "Print errors only");
  command.add_flag("--json", flags.json, "Print one JSON object and nothing else");
}

void add_compile(CLI::App& app) {
  auto flags = std::make_shared<CompileFlags>();
  CLI::App* command = app.add_subcommand("compile", "Compile a .pt2 model to a .pte program");
  add_compile_options(*command, *flags);
  command->footer(
      "Examples:\n"
      "  cormorant compile model.pt2 --calibrate samples.npz --target=cortex-m4 -o model.pte\n"
      "  cormorant compile model.pt2 -q --report report.html --measure      a report on the cost of every layer\n"
      "  cormorant compile model.pt2 --calibrate samples.npz --io=int8 --budget=ram=64K,flash=256K\n"
      "  cormorant compile -m mv2 -q -o mv2.pte                             by name, exported by PyTorch\n");
  command->callback([flags] {
    if (flags->model.empty()) throw CLI::RequiredError("model");
    run(*flags);
  });
}

}  // namespace cormorant::cli
