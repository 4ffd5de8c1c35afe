// SPDX-License-Identifier: Apache-2.0
#include "driver/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/diagnostic.h"
#include "compiler/import.h"
#include "compiler/layer_settings.h"
#include "formats/pte/method_names.h"
#include "planner/memory.h"
#include "target/parse.h"

namespace cormorant::driver {
namespace {

// What only a program for one CPU and our runtime can have.
void refuse_for_executorch(const CompileFlags& flags, std::string_view option) {
  if (!flags.is_for_executorch()) return;
  throw UsageError(
      fmt::format("{0} is not supported with --runtime={1}\n  remove {0} or --runtime={1}", option, flags.runtime));
}
void require_own_runtime(const CompileFlags& flags, const ops::Config& config, std::string_view option) {
  refuse_for_executorch(flags, option);
  if (config.target.is_any()) {
    throw UsageError(fmt::format("{} needs a specific CPU, not --target=any\n  name the CPU with --target", option));
  }
}

// The region for copies of the constants; none for flash, where they are anyway.
std::optional<std::uint32_t> constants_region(const CompileFlags& flags, const compiler::Options& options) {
  if (flags.weights_in == "flash") return std::nullopt;
  std::vector<std::string> names;
  names.reserve(options.memory.size());
  for (const planner::Region& region : options.memory) names.push_back(region.name);
  const auto found = std::ranges::find(names, flags.weights_in);
  if (found == names.end()) {
    names.insert(names.begin(), "flash");
    throw UsageError(
        fmt::format("--weights-in={} names an unknown region: there is {}\n  define the regions with --memory, for "
                    "example --memory={}=512K",
                    flags.weights_in, fmt::join(names, ", "), flags.weights_in));
  }
  refuse_for_executorch(flags, "--weights-in");
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

}  // namespace

pt2::Shapes shapes_for(const std::string& model, const std::vector<std::string>& flags, const std::string& method) {
  if (flags.empty()) return {};
  const pt2::Shapes given = parse_shapes(flags);
  const std::vector<std::string> methods = compiler::method_names(model);
  const std::string chosen = pte::choose_method(methods, method, model);
  pt2::Shapes shapes;
  for (const auto& [input, shape] : given) {
    const auto is_of = [&](const std::string& name) { return input.starts_with(name + "."); };
    if (is_of(chosen)) {
      shapes[input.substr(chosen.size() + 1)] = shape;
    } else if (std::ranges::none_of(methods, is_of)) {
      shapes.try_emplace(input, shape);
    }
  }
  return shapes;
}

void apply(const QuantizationFlags& flags, compiler::Options& options) {
  if (flags.chooses_bits()) {
    options.bits.emplace();
  } else {
    options.scheme = ops::parse_precision(flags.scheme).value_or(options.scheme);
  }
  options.observer = quantizer::parse_observer(flags.observer).value_or(options.observer);
  options.equalize = flags.equalize;
  options.round_weights = flags.round_weights;
  options.correct_biases = flags.correct_biases;
  if (!flags.layers_file.empty()) options.layers = compiler::read_layer_settings(flags.layers_file);
  for (const std::string& layer : flags.float_layers) {
    options.layers.push_back({.path = layer, .where = "--float-layers", .keep_float = true});
  }
}

compiler::Options options_of(const CompileFlags& flags, bool has_data) {
  compiler::Options options;
  options.config.target = parse_target(flags.target, flags.isa);
  options.config.target.optimize = parse_optimize(flags.optimize);
  options.config.runtime = flags.is_for_executorch() ? ops::Runtime::executorch : ops::Runtime::cormorant;
  options.uneven_padding = flags.runtime == "executorch-main";
  options.io = flags.io == "int8"    ? compiler::Io::int8
               : flags.io == "uint8" ? compiler::Io::uint8
               : flags.io == "int16" ? compiler::Io::int16
                                     : compiler::Io::as_model;
  options.quantize = flags.quantize || has_data;
  options.strict = flags.strict;
  apply(flags.quantization, options);
  if (flags.quantization.names_layers() && !options.quantize) {
    throw UsageError(
        "--float-layers and --layer-settings need a quantized model\n  add --calibrate FILE (or --quantize)");
  }
  if (flags.optimize == "ram") {
    require_own_runtime(flags, options.config, "--optimize=ram");
    options.rows.emplace();
  }
  if (flags.feed == "rows") {
    require_own_runtime(flags, options.config, "--feed=rows");
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
        "--scheme=auto needs a specific CPU and Cormorant's own runtime\n  name a scheme, or the CPU with --target");
  }
  if (flags.min_sqnr && !std::isfinite(*flags.min_sqnr)) {
    throw UsageError("--min-sqnr is not a number of decibels\n  give one, for example --min-sqnr=30");
  }
  if (flags.min_sqnr && !has_data) {
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
        fmt::format("--io=uint8 is not supported with --runtime={}\n  use --io=int8 and flip the highest bit of every "
                    "byte",
                    flags.runtime));
  }
  return options;
}

}  // namespace cormorant::driver
