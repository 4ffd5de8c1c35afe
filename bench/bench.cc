// SPDX-License-Identifier: Apache-2.0
//
// ./dev bench: what MLPerf Tiny's four networks cost on each core, beside the peers' figures (bench/peers.json).
// Instructions are counted exactly under emulation, so a run repeats to the digit: bench/results.json holds the figures
// of the last committed run, and --check fails when one got more than 2 % worse. All figures of a row come from one
// binary, --io=int8.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/files.h"
#include "cli/program_io.h"
#include "compiler/compile.h"
#include "compiler/import.h"
#include "compiler/samples.h"
#include "target/parse.h"

namespace cormorant {
namespace {

using Json = nlohmann::ordered_json;

struct Model {
  const char* name;  // the benchmark's
  const char* zoo;   // the file's
};
constexpr Model kModels[] = {{"kws", "kws"}, {"vww", "vww"}, {"ic", "fashion"}, {"ad", "ad"}};
constexpr const char* kCores[] = {"m55", "m4", "m3", "m0"};
constexpr const char* kFigures[] = {"instructions", "load", "code", "model", "arena", "state", "stack"};

std::string directory = ".";

ProgramFile compile_for(const Model& model, const Target& target) {
  const std::string base = directory + "/zoo/" + model.zoo;
  ir::Graph graph = compiler::import_model(base + ".pt2");
  compiler::Options options;
  options.config.target = target;
  options.quantize = true;
  options.io = compiler::Io::int8;
  options.calibration = compiler::read_samples(base + "_calibration.npz", graph);
  return program_from(compiler::compile(graph, options).program, std::string(model.name) + ".pte");
}

// The first calibration sample: instruction counts of int8 kernels hardly depend on data, but zeros would flatter.
Arrays first_sample(const Model& model) {
  const npy::DataSet data = npy::read_data_set(directory + "/zoo/" + model.zoo + "_calibration.npz");
  const npy::Array& x = data.arrays.front().second;
  const auto bytes = npy::sample(x, 0);
  return {{x.dtype, {x.shape.begin() + 1, x.shape.end()}, {bytes.begin(), bytes.end()}}};
}

Json measure(const ProgramFile& program, const Arrays& sample, const Target& target, Compiler compiler,
             bool per_operator) {
  ExecuteOn where;
  where.target = target;
  where.compiler = compiler;
  where.profile = per_operator;
  const RunResult result = *execute(program, {sample}, where).board;
  Json row;
  row["instructions"] = result.execute_instructions;
  row["load"] = result.load_instructions;
  row["code"] = result.code_bytes;
  row["model"] = result.model_bytes;
  row["arena"] = result.arena_bytes;
  row["state"] = result.state_bytes;
  row["stack"] = result.stack_bytes;
  for (const StepProfile& step : result.steps)
    row["operators"].push_back({{"name", step.operator_name}, {"instructions", step.instructions}});
  return row;
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

void print_row(const std::string& label, const Json& ours, const Json& peers, const std::string& core,
               const std::string& model, const std::string& figure) {
  fmt::print("  {:<13}", label);
  std::optional<double> best;
  for (const char* compiler : {"gcc", "clang"}) {
    if (!ours.contains(compiler)) continue;
    const double value = ours[compiler][figure].get<double>();
    fmt::print(" {:>12}", cli::grouped(static_cast<std::uint64_t>(value)));
    best = std::min(best.value_or(value), value);
  }
  for (const Json& peer : peers["peers"]) {
    const auto theirs = peer_figure(peer, figure, core, model);
    if (theirs) {
      fmt::print("  {:>12} {:>6}", cli::grouped(static_cast<std::uint64_t>(*theirs)),
                 fmt::format("{:.2f}", *best / *theirs));
    } else {
      fmt::print("  {:>12} {:>6}", "-", "");
    }
  }
  fmt::print("\n");
}

// Worse by more than 2 % (and by more than rounding: a few bytes or instructions do not count).
std::vector<std::string> regressions(const Json& now, const Json& committed) {
  std::vector<std::string> found;
  for (const auto& [core, models] : now.items()) {
    for (const auto& [model, compilers] : models.items()) {
      for (const auto& [compiler, row] : compilers.items()) {
        for (const char* figure : kFigures) {
          const auto path = Json::json_pointer("/" + core + "/" + model + "/" + compiler + "/" + figure);
          if (!committed.contains(path)) continue;
          const double before = committed[path].get<double>();
          const double after = row[figure].get<double>();
          if (after > before * 1.02 + 16) {
            found.push_back(fmt::format("{} {} {} {}: {} was {}", core, model, compiler, figure, after, before));
          }
        }
      }
    }
  }
  return found;
}

int run(bool check, bool per_operator) {
  const Json peers = Json::parse(std::ifstream(directory + "/bench/peers.json"));
  Json results;
  for (const char* core : kCores) {
    const Target target = parse_target(std::string("cortex-") + core);
    for (const Model& model : kModels) {
      const ProgramFile program = compile_for(model, target);
      const Arrays sample = first_sample(model);
      Json& row = results[core][model.name];
      for (const Compiler compiler : {Compiler::gcc, Compiler::clang}) {
        row[std::string(name_of(compiler))] = measure(program, sample, target, compiler, per_operator);
      }
      fmt::print("{} on cortex-{} ({} MACs)\n", model.name, core,
                 cli::grouped(peers["macs"][model.name].get<std::uint64_t>()));
      fmt::print("  {:<13} {:>12} {:>12}", "", "ours, gcc", "ours, clang");
      for (const Json& peer : peers["peers"])
        fmt::print("  {:>12} {:>6}", peer["name"].get<std::string>().substr(0, 12), "ratio");
      fmt::print("\n");
      for (const char* figure : kFigures) print_row(figure, row, peers, core, model.name, figure);
      if (per_operator) {
        for (const Json& step : row["gcc"]["operators"]) {
          fmt::print("    {:>12}  {}\n", cli::grouped(step["instructions"].get<std::uint64_t>()),
                     step["name"].get<std::string>());
        }
      }
      fmt::print("\n");
    }
  }
  const std::string path = directory + "/bench/results.json";
  if (check) {
    const std::vector<std::string> worse = regressions(results, Json::parse(std::ifstream(path)));
    for (const std::string& line : worse) fmt::print(stderr, "worse: {}\n", line);
    if (!worse.empty())
      fmt::print(stderr,
                 "{} figure(s) more than 2 % worse than bench/results.json; mend them, or run ./dev bench and commit "
                 "the new figures with the reason\n",
                 worse.size());
    return worse.empty() ? 0 : 1;
  }
  std::ofstream(path) << results.dump(1) << "\n";
  fmt::print("written to bench/results.json\n");
  return 0;
}

}  // namespace
}  // namespace cormorant

int main(int argc, char** argv) {
  CLI::App app("What the models cost, beside the peers' figures");
  bool check = false;
  bool per_operator = false;
  app.add_flag("--check", check, "Fail when a figure is more than 2 % worse than the committed one");
  app.add_flag("--operators", per_operator, "Instructions per operator too");
  app.add_option("--root", cormorant::directory, "The project's folder");
  CLI11_PARSE(app, argc, argv);
  try {
    return cormorant::run(check, per_operator);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
