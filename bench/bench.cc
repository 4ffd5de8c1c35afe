// SPDX-License-Identifier: Apache-2.0
//
// ./dev bench: what MLPerf Tiny's four networks and an LSTM cost on each core, next to the peers' figures
// (bench/peers.json) and our own limits (bench/bars.json). Instructions are counted exactly under emulation, so a run
// repeats to the digit: bench/results.json holds the figures of the last committed run. --check fails when one got more
// than 2 % worse, or when a bar that was met is missed. --layers does the same for fifty single layers, whose figures
// are in bench/results_layers.json. All figures of a row come from one binary, --io as activations.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <future>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "bench/layers.h"
#include "compiler/compile.h"
#include "compiler/import.h"
#include "compiler/samples.h"
#include "program/files.h"
#include "program/program_io.h"
#include "quantizer/copy.h"
#include "target/parse.h"

namespace cormorant {
namespace {

using Json = nlohmann::ordered_json;

struct Model {
  const char* name;  // the benchmark's, followed by the scheme's
  const char* zoo;   // the file's
  ops::Precision scheme = ops::Precision::w8a8;
  bool is_quick = true;            // else left out by --quick: what it would show, others nearly do
  ir::Graph (*build)() = nullptr;  // instead of a file
};
constexpr Model kModels[] = {{"kws", "kws"},
                             {"vww", "vww"},
                             {"ic", "fashion"},
                             {"ad", "ad"},
                             {"kws-8w16a", "kws", ops::Precision::w8a16},
                             {"kws-4w8a", "kws", ops::Precision::w4a8},
                             {"ic-8w16a", "fashion", ops::Precision::w8a16, false},
                             {"ic-4w8a", "fashion", ops::Precision::w4a8, false},
                             {"kws-trained", "trained/kws", ops::Precision::w8a8, false},
                             {"vww-trained", "trained/vww", ops::Precision::w8a8, false},
                             {"ad-trained", "trained/ad", ops::Precision::w8a8, false},
                             {"lstm", nullptr, ops::Precision::w8a8, true, bench::lstm}};
// A core, or a core with a goal other than balanced: what --optimize trades there, and (-rows) --feed=rows.
constexpr const char* kCores[] = {"m55",     "m33",      "m7",      "m4",      "m3",       "m0",     "m4-speed",
                                  "m4-size", "m55-size", "m0-size", "m55-ram", "m55-rows", "m4-ram", "m4-rows"};
// Dispatch is what the executor spends per operator outside its kernel.
constexpr const char* kFigures[] = {"instructions", "cycles", "load",  "dispatch", "code",
                                    "model",        "arena",  "state", "stack"};
constexpr const char* kCompilers[] = {"gcc", "clang"};

struct Flags {
  bool check = false, quick = false, operators = false, layers = false;
  std::string only;                // of layers, those whose names hold this
  std::vector<std::string> cores;  // all, if none
};

std::string directory = ".";

bool is_fed(const std::string& core) { return core.ends_with("-rows"); }
bool is_by_rows(const std::string& core) { return core.ends_with("-ram") || is_fed(core); }
// Rows are for quantized images.
bool has_rows(const Model& model) {
  return model.build == nullptr && model.scheme == ops::Precision::w8a8 &&
         !std::string_view(model.name).starts_with("ad");
}

// A file in the zoo, or what is built here with random inputs.
struct Source {
  ir::Graph graph;
  quantizer::Samples samples;
};

Source source_of(const Model& model) {
  constexpr std::size_t kSamples = 16;
  if (model.build != nullptr) {
    ir::Graph graph = model.build();
    quantizer::Samples samples = quantizer::random_samples(graph, kSamples, 1);
    return {std::move(graph), std::move(samples)};
  }
  const std::string base = directory + "/zoo/" + model.zoo;
  ir::Graph graph = compiler::import_model(base + ".pt2");
  quantizer::Samples samples = compiler::read_samples(base + "_calibration.npz", graph);
  return {std::move(graph), std::move(samples)};
}

// The first calibration sample: instruction counts of int8 kernels hardly depend on data, but zeros would flatter.
Arrays first_sample(const quantizer::Samples& samples) {
  Arrays sample;
  for (const evaluate::Tensor& x : samples.load(0)) {
    const auto bytes = std::as_bytes(x.values());
    sample.push_back({DType::f32, x.shape, {bytes.begin(), bytes.end()}});
  }
  return sample;
}

struct Quantized {
  ir::Graph graph;
  Arrays sample;
};

// Calibrating takes longest, and gives the same integers for every core: done once per model, in the first compilation.
Quantized quantized(const Model& model, compiler::Options options) {
  static std::map<std::string, Quantized> known;
  static std::mutex mutex;  // models are compiled by several threads
  const auto copy_of = [](const Quantized& from) { return Quantized{quantizer::copy_of(from.graph), from.sample}; };
  {
    const std::scoped_lock lock(mutex);
    const auto found = known.find(model.name);
    if (found != known.end()) return copy_of(found->second);
  }
  Source source = source_of(model);
  options.calibration = std::move(source.samples);
  compiler::Compilation(source.graph, options).quantize();
  Quantized result{std::move(source.graph), first_sample(options.calibration)};
  const std::scoped_lock lock(mutex);
  known.emplace(model.name, copy_of(result));
  return result;
}

compiler::Options options_for(const Model& model, const std::string& core, const Target& target) {
  compiler::Options options;
  options.config.target = target;
  options.quantize = true;
  options.scheme = model.scheme;
  if (is_by_rows(core)) options.rows = compiler::RowsOptions{.feed = is_fed(core)};
  options.io = model.scheme == ops::Precision::w8a16 ? compiler::Io::int16 : compiler::Io::int8;
  return options;
}

Json measure(const ProgramFile& program, const Arrays& sample, const Target& target, Compiler compiler) {
  ExecuteOn where;
  where.target = target;
  where.compiler = compiler;
  where.profile = true;
  where.estimate_cycles = true;
  where.time_limit = std::chrono::minutes(5);  // a debug build on a busy machine
  const RunResult result = *execute(program, {sample}, where).board;
  std::uint64_t in_kernels = 0;
  Json operators;
  for (const StepProfile& step : result.steps) {
    in_kernels += step.instructions;
    operators.push_back({{"name", step.operator_name}, {"instructions", step.instructions}, {"cycles", step.cycles}});
  }
  return {{"instructions", result.execute_instructions},
          {"cycles", result.execute_cycles},
          {"load", result.load_instructions},
          {"dispatch", (result.execute_instructions - in_kernels + result.steps.size() - 1) / result.steps.size()},
          {"code", result.code_bytes},
          {"model", result.model_bytes},
          {"arena", result.arena_bytes},
          {"state", result.state_bytes},
          {"stack", result.stack_bytes},
          {"operators", operators}};
}

std::string name_of_core(const std::string& core) { return core.substr(0, core.find('-')); }

Target target_of(const std::string& core) {
  Target target = parse_target("cortex-" + name_of_core(core));
  if (core.ends_with("-speed")) target.optimize = Optimize::speed;
  if (core.ends_with("-size")) target.optimize = Optimize::size;
  return target;
}

// One model on one core, with both compilers' code.
Json measure_both(const Model& model, const std::string& core) {
  const Target target = target_of(core);
  const compiler::Options options = options_for(model, core, target);
  Quantized from = quantized(model, options);
  const ProgramFile program =
      program_from(compiler::Compilation(from.graph, options).finish().program, std::string(model.name) + ".pte");
  return {{"gcc", measure(program, from.sample, target, Compiler::gcc)},
          {"clang", measure(program, from.sample, target, Compiler::clang)}};
}

// A peer's figure: by core and compiler (its best), by core, or for all cores; nothing where it was not measured.
std::optional<double> peer_figure(const Json& peer, const std::string& figure, const std::string& core,
                                  const std::string& model) {
  if (!peer.contains(figure)) return std::nullopt;
  const Json& table = peer[figure];
  if (table.contains(model)) return table[model].get<double>();
  if (!table.contains(core)) return std::nullopt;
  if (table[core].contains(model)) return table[core][model].get<double>();
  std::optional<double> best;
  for (const Json& by_compiler : table[core]) {
    if (by_compiler.is_object() && by_compiler.contains(model)) {
      best = std::min(best.value_or(by_compiler[model].get<double>()), by_compiler[model].get<double>());
    }
  }
  return best;
}

double best_of(const Json& compilers, const std::string& figure) {
  return std::min(compilers["gcc"][figure].get<double>(), compilers["clang"][figure].get<double>());
}

// The largest figure that a bar allows: a number of its own, a multiple of what the core needs with the balanced goal,
// or a share of the best that any peer needs.
std::optional<double> allowed(const Json& ours, const Json& bars, const Json& peers, const std::string& core,
                              const std::string& model, const std::string& figure) {
  const auto path = Json::json_pointer("/" + core + "/" + model + "/" + figure);
  if (!bars.contains(path)) return std::nullopt;
  const Json& bar = bars[path];
  if (bar.is_number()) return bar.get<double>();
  if (bar.contains("of_balanced"))
    return bar["of_balanced"].get<double>() * best_of(ours[name_of_core(core)][model], figure);
  std::optional<double> best;
  for (const Json& peer : peers["peers"]) {
    const auto theirs = peer_figure(peer, figure, core, model);
    if (theirs) best = std::min(best.value_or(*theirs), *theirs);
  }
  if (best) *best *= bar["of_best_peer"].get<double>();
  return best;
}

std::string with_commas(double value) { return grouped(static_cast<std::uint64_t>(value)); }

void print_block(const Json& all, const Json& peers, const Json& bars, const std::string& core,
                 const std::string& model) {
  const Json& ours = all[core][model];
  fmt::print("{} on cortex-{} ({} MACs)\n", model, core,
             grouped(peers["macs"][model.substr(0, model.find('-'))].get<std::uint64_t>()));
  fmt::print("  {:<13} {:>12} {:>12}", "", "ours, gcc", "ours, clang");
  for (const Json& peer : peers["peers"])
    fmt::print("  {:>12} {:>6}", peer["name"].get<std::string>().substr(0, 12), "ratio");
  fmt::print("  {:>12}\n", "bar");
  for (const std::string figure : kFigures) {
    fmt::print("  {:<13}", figure);
    for (const char* compiler : kCompilers) fmt::print(" {:>12}", with_commas(ours[compiler][figure].get<double>()));
    const double best = best_of(ours, figure);
    for (const Json& peer : peers["peers"]) {
      const auto theirs = peer_figure(peer, figure, name_of_core(core), model);
      fmt::print("  {:>12} {:>6}", theirs ? with_commas(*theirs) : "-",
                 theirs ? fmt::format("{:.2f}", best / *theirs) : "");
    }
    if (const auto limit = allowed(all, bars, peers, core, model, figure))
      fmt::print("  {:>12} {}", with_commas(*limit), best <= *limit ? "met" : "MISSED");
    fmt::print("\n");
  }
}

void print_operators(const Json& ours) {
  const Json& gcc = ours["gcc"]["operators"];
  const Json& clang = ours["clang"]["operators"];
  fmt::print("    {:>12} {:>12} {:>12} {:>12}\n", "gcc", "cycles", "clang", "cycles");
  for (std::size_t i = 0; i < gcc.size(); ++i) {
    for (const Json* step : {&gcc[i], &clang[i]}) {
      fmt::print("    {:>12} {:>12}", with_commas((*step)["instructions"].get<double>()),
                 with_commas((*step)["cycles"].get<double>()));
    }
    fmt::print("  {}\n", gcc[i]["name"].get<std::string>());
  }
}

Json with_updates(Json results, const Json& newer) {
  results.update(newer, true);
  return results;
}

// Worse than before by more than 2 % (and by more than rounding: a few bytes or instructions do not count); over a bar
// that was met; or code by gcc, the compiler most users have, more than 15 % behind our best.
std::vector<std::string> regressions(const Json& now, const Json& committed, const Json& peers, const Json& bars) {
  std::vector<std::string> found;
  const Json all = with_updates(committed, now);
  for (const auto& [core, models] : now.items()) {
    for (const auto& [model, compilers] : models.items()) {
      const auto before = Json::json_pointer("/" + core + "/" + model);
      for (const std::string figure : kFigures) {
        for (const std::string compiler : kCompilers) {
          const auto path = before / compiler / figure;
          if (!committed.contains(path)) continue;
          const double was = committed[path].get<double>();
          const double is = compilers[compiler][figure].get<double>();
          if (is > was * 1.02 + 16)
            found.push_back(fmt::format("{} {} {} {}: {} was {}", core, model, compiler, figure, is, was));
        }
        const auto limit = allowed(all, bars, peers, core, model, figure);
        if (!limit || !committed.contains(before)) continue;
        const double is = best_of(compilers, figure);
        const auto had = allowed(committed, bars, peers, core, model, figure);
        if (is > *limit && best_of(committed[before], figure) <= *had)
          found.push_back(fmt::format("{} {} {}: {} is over the bar of {:.0f}", core, model, figure, is, *limit));
      }
      const double gcc = compilers["gcc"]["instructions"].get<double>();
      if (gcc > 1.15 * best_of(compilers, "instructions"))
        found.push_back(fmt::format("{} {}: gcc's code takes 1.15 times the instructions of clang's", core, model));
    }
  }
  return found;
}

constexpr const char* kResultsFile = "results.json";
constexpr const char* kLayersFile = "results_layers.json";

Json read_json(const std::string& file) { return Json::parse(std::ifstream(directory + "/bench/" + file)); }

void write_json(const std::string& file, const Json& json) {
  std::ofstream(directory + "/bench/" + file) << json.dump(1) << "\n";
  fmt::print("written to bench/{}\n", file);
}

// Two models at a time: most of the time goes to emulation, in processes of its own.
Json measure_all(const std::vector<std::string>& cores, bool only_quick) {
  std::vector<Model> models(std::begin(kModels), std::end(kModels));
  if (only_quick) std::erase_if(models, [](const Model& model) { return !model.is_quick; });
  Json results;
  const std::vector<Model> all = std::move(models);
  for (const std::string& core : cores) {
    models.clear();
    std::ranges::copy_if(all, std::back_inserter(models),
                         [&](const Model& model) { return !is_by_rows(core) || has_rows(model); });
    for (std::size_t i = 0; i < models.size(); i += 2) {
      std::optional<std::future<Json>> other;
      if (i + 1 < models.size()) other = std::async(std::launch::async, measure_both, std::cref(models[i + 1]), core);
      results[core][models[i].name] = measure_both(models[i], core);
      if (other) results[core][models[i + 1].name] = other->get();
    }
  }
  return results;
}

// One layer by itself, gcc's code.
std::uint64_t cycles_of(const bench::Layer& layer, const std::string& core) {
  ir::Graph graph = layer.build();
  compiler::Options options;
  options.config.target = target_of(core);
  options.quantize = true;
  options.io = compiler::Io::int8;
  options.calibration = quantizer::random_samples(graph, 4, 1);
  const Arrays sample = first_sample(options.calibration);
  compiler::Compilation(graph, options).quantize();
  const ProgramFile program = program_from(compiler::Compilation(graph, options).finish().program, layer.name);
  ExecuteOn where;
  where.target = options.config.target;
  where.estimate_cycles = true;
  where.time_limit = std::chrono::minutes(5);
  return execute(program, {sample}, where).board->execute_cycles;
}

// How many times faster ours must be: each layer, all but a few of them, and their geometric mean on each core.
constexpr double kEachLayer = 0.98, kMostLayers = 1.15;
constexpr int kFewLayers = 5;

std::vector<std::string> layer_regressions(const std::string& core, const std::map<std::string, double>& ratios,
                                           double mean, const Json& cycles, const Json& committed, const Json& bars) {
  std::vector<std::string> found;
  int few = 0;
  for (const auto& [layer, ratio] : ratios) {
    if (ratio < kEachLayer) found.push_back(fmt::format("{} {}: {:.2f} times as fast as CMSIS-NN", core, layer, ratio));
    if (ratio < kMostLayers) ++few;
  }
  for (const auto& [layer, now] : cycles.items()) {
    const auto path = Json::json_pointer("/" + core) / layer;
    if (!committed.contains(path)) continue;
    const double was = committed[path].get<double>(), is = now.get<double>();
    if (is > was * 1.02 + 16) found.push_back(fmt::format("{} {} cycles: {} was {}", core, layer, is, was));
  }
  if (few > kFewLayers)
    found.push_back(fmt::format("{}: {} layers are below {} times as fast as CMSIS-NN", core, few, kMostLayers));
  if (bars.contains(core) && mean < bars[core].get<double>())
    found.push_back(fmt::format("{}: a geometric mean of {:.3f}, not {}", core, mean, bars[core].get<double>()));
  return found;
}

int report_regressions(const std::vector<std::string>& worse, const char* file) {
  for (const std::string& line : worse) fmt::print(stderr, "worse: {}\n", line);
  if (!worse.empty())
    fmt::print(stderr,
               "{} figure(s) are worse than bench/{}; fix them, or run the same without --check and commit the new "
               "figures with the reason\n",
               worse.size(), file);
  return worse.empty() ? 0 : 1;
}

// CMSIS-NN's cycles, ours, and how many times faster ours is.
int run_layers(const Flags& flags) {
  const Json peers = read_json("peers_layers.json");
  const Json bars = read_json("bars.json")["layers"];
  const Json committed = read_json(kLayersFile);
  std::vector<bench::Layer> layers = bench::layers();
  std::erase_if(layers, [&](const bench::Layer& layer) { return layer.name.find(flags.only) == std::string::npos; });
  if (layers.empty()) throw InputError({.problem = "no layer's name contains \"" + flags.only + "\"", .advice = {}});
  Json results;
  std::vector<std::string> worse;
  for (const std::string& core : flags.cores.empty() ? peers["cores"].get<std::vector<std::string>>() : flags.cores) {
    const auto column = std::find(peers["cores"].begin(), peers["cores"].end(), core);
    if (column == peers["cores"].end())
      throw InputError({.problem = "CMSIS-NN's cycles are not known for " + core,
                        .advice = fmt::format("they are for {}", fmt::join(peers["cores"], ", "))});
    const auto at = static_cast<std::size_t>(column - peers["cores"].begin());
    fmt::print("{:<30} {:>12} {:>12} {:>6}  cortex-{}, estimated cycles\n", "", "CMSIS-NN", "ours", "ratio", core);
    std::map<std::string, double> ratios;
    double logarithms = 0;
    for (const bench::Layer& layer : layers) {
      const std::uint64_t ours = cycles_of(layer, core);
      results[core][layer.name] = ours;
      if (!peers["cycles"].contains(layer.name)) {
        fmt::print("{:<30} {:>12} {:>12}\n", layer.name, "-", grouped(ours));
        continue;
      }
      const double theirs = peers["cycles"][layer.name][at].get<double>();
      const double ratio = theirs / static_cast<double>(ours);
      ratios.emplace(layer.name, ratio);
      logarithms += std::log(ratio);
      fmt::print("{:<30} {:>12} {:>12} {:>6.2f}\n", layer.name, with_commas(theirs), grouped(ours), ratio);
    }
    const double mean = std::exp(logarithms / std::max(1.0, static_cast<double>(ratios.size())));
    fmt::print("geometric mean {:.3f}\n\n", mean);
    // The means and the few slow ones are of all layers.
    std::ranges::move(
        layer_regressions(core, ratios, mean, results[core], committed, flags.only.empty() ? bars : Json()),
        std::back_inserter(worse));
  }
  if (flags.check) return report_regressions(worse, kLayersFile);
  Json written = committed;
  written.update(results, true);
  write_json(kLayersFile, written);
  return 0;
}

// The networks' cycles in CMSIS-NN's functions alone: the sums of their layers. They are the first peer's, whose
// runtime calls these functions.
Json peers_with_cycles() {
  Json peers = read_json("peers.json");
  const Json layers = read_json("peers_layers.json");
  for (const auto& [network, parts] : layers["networks"].items()) {
    for (std::size_t i = 0; i < layers["cores"].size(); ++i) {
      std::uint64_t sum = 0;
      for (const auto& [layer, times] : parts.items())
        sum += layers["cycles"].at(layer).at(i).get<std::uint64_t>() * times.get<std::uint64_t>();
      peers["peers"][0]["cycles"][layers["cores"][i].get<std::string>()][network] = sum;
    }
  }
  return peers;
}

int run(const Flags& flags) {
  const Json peers = peers_with_cycles();
  const Json bars = read_json("bars.json");
  const Json committed = read_json(kResultsFile);
  Json results = measure_all(
      flags.cores.empty() ? std::vector<std::string>(std::begin(kCores), std::end(kCores)) : flags.cores, flags.quick);
  for (auto& [core, models] : results.items()) {
    for (auto& [model, compilers] : models.items()) {
      print_block(with_updates(committed, results), peers, bars, core, model);
      if (flags.operators) print_operators(compilers);
      fmt::print("\n");
      for (const char* compiler : kCompilers) compilers[compiler].erase("operators");
    }
  }
  if (flags.check) {
    return report_regressions(regressions(results, committed, peers, bars), kResultsFile);
  }
  write_json(kResultsFile, with_updates(committed, results));
  return 0;
}

}  // namespace
}  // namespace cormorant

int main(int argc, char** argv) {
  CLI::App app("Measure the models' cost next to the peers' figures");
  cormorant::Flags flags;
  app.add_flag("--check", flags.check, "Fail when a figure is more than 2 % worse than the committed one");
  app.add_flag("--quick", flags.quick, "Without what other rows nearly show: trained weights, ic in other formats");
  app.add_flag("--operators", flags.operators, "Figures per operator too");
  app.add_flag("--layers", flags.layers, "Instead of the models fifty layers, beside CMSIS-NN's cycles");
  app.add_option("--only", flags.only, "Of the layers those whose names hold this");
  app.add_option("--cores", flags.cores,
                 fmt::format("Of {}; of layers m55, m85, m7, m4, m3, m0", fmt::join(cormorant::kCores, ", ")))
      ->delimiter(',');
  app.add_option("--root", cormorant::directory, "The project's folder");
  CLI11_PARSE(app, argc, argv);
  try {
    return flags.layers ? cormorant::run_layers(flags) : cormorant::run(flags);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
