// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/suggest.h"
#include "cli/cli.h"
#include "cli/run_figures.h"
#include "cli/terminal.h"
#include "program/bundle_io.h"
#include "program/files.h"
#include "program/firmware_table.h"
#include "program/json_text.h"
#include "program/names.h"
#include "program/program_io.h"
#include "target/parse.h"

namespace cormorant::cli {
namespace {

// What the figures of `run` are about; a bundle brings several samples and a verdict.
struct Outcome {
  Execution execution;
  std::optional<BundleCheck> check;
  std::optional<StepNames> names = {};  // of the steps of a profile
};

struct RunFlags {
  std::string program, method, target, isa, board, compiler = "gcc", elf;
  std::vector<std::string> inputs, outputs;
  bool profile = false, json = false, quiet = false, sequence = false;
  double timeout = 60;
  std::string clock_text;
  double clock = 0;  // hertz; 0: not given
  Tolerance tolerance;
};

const emit::Step* name_of_step(const Outcome& outcome, std::size_t index) {
  return outcome.names && index < outcome.names->size() ? &(*outcome.names)[index] : nullptr;
}

double milliseconds(double clock, std::uint64_t cycles) { return 1000.0 * static_cast<double>(cycles) / clock; }

const char* verdict(const BundleCheck& check) { return check.passed ? "PASS" : "FAIL"; }

void print_figures(const RunFlags& flags, const ExecuteOn& where, const Outcome& outcome) {
  const Execution& execution = outcome.execution;
  if (!execution.board || !where.target) {
    fmt::print("ran on the host with the reference kernels\n");
    return;
  }
  const RunResult& board = *execution.board;
  fmt::print("ran on {}, ISA {}, {} code\n", where.target->name(), name_of(where.target->isa), flags.compiler);
  fmt::print("  instructions {:>12} execute, {} load\n", grouped(board.execute_instructions),
             grouped(board.load_instructions));
  fmt::print("  cycles       {:>12} execute, {} load, estimated for memory without wait states\n",
             grouped(board.execute_cycles), grouped(board.load_cycles));
  if (flags.clock > 0) {
    fmt::print("  time         {:>12.3f} ms execute at {:g} MHz, from the estimated cycles\n",
               milliseconds(flags.clock, board.execute_cycles), flags.clock / 1e6);
  }
  fmt::print("  flash        {:>12} bytes: code {}, model {}\n", grouped(board.code_bytes + board.model_bytes),
             grouped(board.code_bytes), grouped(board.model_bytes));
  fmt::print("  RAM          {:>12} bytes: arena {}, state {}, stack {}\n",
             grouped(board.arena_bytes + board.state_bytes + board.stack_bytes), grouped(board.arena_bytes),
             grouped(board.state_bytes), grouped(board.stack_bytes));
  if (!flags.profile) return;
  fmt::print("  {:>14} {:>14}\n", "instructions", "cycles");
  const auto print_step = [&](std::size_t i, const char* indent) {
    const StepProfile& step = board.steps[i];
    const emit::Step* const origin = name_of_step(outcome, i);
    fmt::print("  {:>14} {:>14} {:5.1f} %  {:<36} {}\n", grouped(step.instructions), grouped(step.cycles),
               100.0 * static_cast<double>(step.cycles) / static_cast<double>(board.execute_cycles),
               indent + step.operator_name, origin ? origin->source.empty() ? origin->node : origin->source : "");
  };
  for (std::size_t i = 0; i < board.steps.size(); ++i) {
    if (board.steps[i].part_of) continue;
    print_step(i, "");
    for (std::size_t k = i + 1; k < board.steps.size(); ++k) {  // what is computed by rows with it
      if (board.steps[k].part_of == i) print_step(k, "  ");
    }
  }
  if (board.stack_bound) {
    print_stack_path(*board.stack_bound);
  } else {
    fmt::print("  the stack has no bound: {}\n", board.why_unbounded);
  }
}

void print_outputs(const ProgramFile& program, const Arrays& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::vector<float> values = real_values(outputs[i], program.outputs[i]);
    const std::string& name = program.outputs[i].name;
    fmt::print("  {:<13}", fmt::format("output {}{}{}", i, name.empty() ? "" : ", ", name));
    for (std::size_t k = 0; k < std::min<std::size_t>(values.size(), 12); ++k) fmt::print(" {:.4g}", values[k]);
    fmt::print("{}\n", values.size() > 12 ? fmt::format(" … {} values", values.size()) : "");
  }
}

// The CPU that the program was compiled for, unless told otherwise.
Target target_of(const RunFlags& flags) {
  if (!flags.target.empty()) return parse_target(flags.target, flags.isa);
  const ProgramFile program = read_program(flags.program, flags.method);
  if (program.cpu.empty()) return parse_target("cortex-m55", flags.isa);
  try {
    return parse_target(program.cpu, flags.isa.empty() ? program.isa : flags.isa);
  } catch (const UsageError& error) {
    if (!flags.isa.empty()) throw;
    throw InputError({fmt::format("it was compiled for '{} {}': {}", program.cpu, program.isa, error.what()),
                      "name the CPU with --target", flags.program});
  }
}

ExecuteOn place_of(const RunFlags& flags) {
  ExecuteOn where;
  if (flags.target != "host") {
    where.target = target_of(flags);
    if (where.target->is_any()) throw UsageError("--target=any is not a board\n  name a CPU, or host");
  }
  where.board = flags.board;
  where.compiler = flags.compiler == "clang" ? Compiler::clang : Compiler::gcc;
  where.profile = flags.profile;
  where.estimate_cycles = true;
  where.account = true;
  where.time_limit = std::chrono::milliseconds(static_cast<std::int64_t>(flags.timeout * 1000));
  where.keep_elf = flags.elf;
  return where;
}

// The files of --input or --output by the index of what they belong to: those as name=file where they say, the others
// in order to what is left; empty: none. A name that is an existing file is a file.
std::vector<std::string> files_of(const char* option, const std::vector<std::string>& given,
                                  const std::vector<ProgramTensor>& tensors, const std::string& program) {
  std::vector<std::string> names;
  names.reserve(tensors.size());
  for (const ProgramTensor& tensor : tensors) names.push_back(tensor.name);
  std::vector<std::string> files(tensors.size()), unnamed;
  for (const std::string& text : given) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const auto at = std::ranges::find(names, name);
    if (equals == std::string::npos || name.find('/') != std::string::npos || std::filesystem::exists(text)) {
      unnamed.push_back(text);
    } else if (name.empty() || at == names.end()) {
      throw UsageError(fmt::format("{} {}: {} has no {} of that name{}\n  the names are {}", option, text, program,
                                   option + 2, did_you_mean(name, names), fmt::join(names, ", ")));
    } else {
      std::string& file = files[static_cast<std::size_t>(at - names.begin())];
      if (!file.empty()) throw UsageError(fmt::format("{} names {} twice", option, name));
      file = text.substr(equals + 1);
    }
  }
  auto next = files.begin();
  for (std::string& text : unnamed) {
    next = std::find(next, files.end(), "");
    if (next == files.end()) {
      throw UsageError(fmt::format("{} has {} {}{}, fewer than there are files after {}\n  give at most one for each",
                                   program, tensors.size(), option + 2, tensors.size() == 1 ? "" : "s", option));
    }
    *next++ = std::move(text);
  }
  return files;
}

npy::Array zeros(const ProgramTensor& tensor) {
  return {.dtype = tensor.dtype,
          .shape = tensor.shape,
          .data = std::vector<std::byte>(tensor.element_count() * size_of(tensor.dtype))};
}

// Per step, or of one execution.
std::vector<Arrays> read_inputs(const RunFlags& flags, const ProgramFile& program) {
  const std::vector<std::string> paths = files_of("--input", flags.inputs, program.inputs, flags.program);
  std::vector<Arrays> samples(1);
  bool is_first = true;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string& path = paths[i];
    if (path.empty()) continue;
    std::vector<npy::Array> steps = {npy::read_npy(path)};
    if (flags.sequence) steps = steps_of(steps.front(), program.inputs[i], path);
    if (is_first) samples.resize(steps.size());
    is_first = false;
    if (steps.size() != samples.size() || steps.empty()) {
      throw InputError(
          {fmt::format("the sequence has {} steps, but that of the first input has {}", steps.size(), samples.size()),
           "give sequences of the same length, with at least one step", path});
    }
    for (Arrays& sample : samples) {
      while (sample.size() < i) sample.push_back(zeros(program.inputs[sample.size()]));
    }
    for (std::size_t k = 0; k < steps.size(); ++k) {
      to_io(steps[k], program.inputs[i], path);  // here, where the file's name is known
      samples[k].push_back(std::move(steps[k]));
    }
  }
  return samples;
}

Outcome run_bundle(const RunFlags& flags, const ProgramFile& program, const ExecuteOn& where) {
  if (!flags.inputs.empty()) throw UsageError(flags.program + " has its own inputs\n  remove --input");
  const pte::Bundle bundle = read_bundle(flags.program, flags.method);
  if (bundle.cases.empty()) {
    const std::string of_method = flags.method.empty() ? "" : fmt::format(" for method '{}'", flags.method);
    throw InputError({"the bundle has no test case" + of_method, "bundle the program again", flags.program});
  }
  Outcome outcome{execute(program, bundled_inputs(bundle, flags.program), where), {}};
  outcome.check = check_outputs(bundle, outcome.execution.outputs, flags.tolerance, flags.program);
  return outcome;
}

// 0, or 1 for a bundle whose outputs are not as expected.
int run(const RunFlags& flags) {
  ExecuteOn where = place_of(flags);
  std::vector<NamedFile> read = {{"the program", flags.program}};
  for (const std::string& input : flags.inputs) {
    read.push_back({"--input", input});
    if (const std::size_t equals = input.find('='); equals != std::string::npos) {
      read.push_back({"--input", input.substr(equals + 1)});
    }
  }
  require_other_file({"--elf", flags.elf}, read);
  const ProgramFile program = read_program(flags.program, flags.method);
  const std::vector<std::string> written = files_of("--output", flags.outputs, program.outputs, flags.program);
  for (const std::string& output : written) require_other_file({"--output", output}, read);
  const bool is_bundle = kind_of(flags.program) == FileKind::bundle;
  const std::vector<Arrays> inputs = read_inputs(flags, program);
  where.steps = inputs.size();
  if (!flags.json && !flags.quiet) where.progress = terminal_progress();
  Outcome outcome = is_bundle ? run_bundle(flags, program, where) : Outcome{execute(program, inputs, where), {}};
  if (flags.profile) outcome.names = read_names(flags.program, program.bytes, program.method);
  const std::vector<Arrays>& outputs = outcome.execution.outputs;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i].empty()) continue;
    Arrays steps;
    for (const Arrays& step : outputs) steps.push_back(step.at(i));
    npy::write_npy(written[i], flags.sequence ? sequence_of(steps) : steps.front());
  }
  const int status = outcome.check && !outcome.check->passed ? 1 : 0;
  if (flags.json) {
    nlohmann::ordered_json json = run_json(where, outcome.execution, flags.clock, outcome.names);
    if (outcome.check) json["test_result"] = verdict(*outcome.check);
    fmt::print("{}\n", json_text(json, 2));
    return status;
  }
  if (!flags.quiet) {
    print_figures(flags, where, outcome);
    print_outputs(program, outputs.back());
  }
  if (outcome.check) {
    if (!outcome.check->worst.empty()) fmt::print("  farthest      {}\n", outcome.check->worst);
    fmt::print("Test_result: {}\n", verdict(*outcome.check));
  }
  return status;
}

}  // namespace

// Null means unknown: a program from elsewhere comes without names of nodes.
nlohmann::ordered_json run_json(const ExecuteOn& where, const Execution& execution, double clock,
                                const std::optional<StepNames>& names) {
  nlohmann::ordered_json json;
  json["target"] = where.target ? where.target->name() : "host";
  json["isa"] = where.target ? name_of(where.target->isa) : "host";
  if (!execution.board || !where.target) return json;
  const RunResult& board = *execution.board;
  json["instructions"] = {{"load", board.load_instructions}, {"execute", board.execute_instructions}};
  json["cycles"] = {{"load", board.load_cycles}, {"execute", board.execute_cycles}};
  if (clock > 0) json["milliseconds"] = {{"execute", milliseconds(clock, board.execute_cycles)}};
  json["flash"] = {{"code", board.code_bytes}, {"model", board.model_bytes}};
  json["ram"] = {{"arena", board.arena_bytes}, {"state", board.state_bytes}, {"stack", board.stack_bytes}};
  json["stack_bound"] = board.stack_bound ? stack_json(*board.stack_bound, *where.target) : nullptr;
  json["code_parts"] = code_parts_json(board);
  if (!where.profile) return json;
  json["operators"] = nlohmann::json::array();
  for (std::size_t i = 0; i < board.steps.size(); ++i) {
    const StepProfile& step = board.steps[i];
    const emit::Step* const origin = names && i < names->size() ? &(*names)[i] : nullptr;
    json["operators"].push_back({{"name", step.operator_name},
                                 {"node", origin ? nlohmann::json(origin->node) : nullptr},
                                 {"source", origin ? nlohmann::json(origin->source) : nullptr},
                                 {"instructions", step.instructions},
                                 {"cycles", step.cycles}});
    if (step.part_of) json["operators"].back()["part_of"] = *step.part_of;
  }
  return json;
}

// "160MHz", "32kHz", "48000000".
double parse_clock(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double factor = unit == "MHz" || unit == "M"   ? 1e6
                        : unit == "kHz" || unit == "k" ? 1e3
                        : unit == "GHz" || unit == "G" ? 1e9
                        : unit == "Hz" || unit.empty() ? 1
                                                       : 0;
  const double hertz = number * factor;
  const bool is_frequency = hertz >= 1 && hertz <= 1e11;  // as NaN is not
  if (!is_frequency) {
    throw UsageError("--clock takes a frequency, such as 160MHz, not '" + text + "'");
  }
  return hertz;
}

void add_run(CLI::App& app) {
  auto flags = std::make_shared<RunFlags>();
  const CLI::Validator positive(
      [](const std::string& text) {
        return std::strtod(text.c_str(), nullptr) > 0 ? std::string() : "'" + text + "' is not a number of seconds";
      },
      "");
  CLI::App* command =
      app.add_subcommand("run", "Run a .pte or .bpte on the emulated board of its target, or on the host");
  command->add_option("program", flags->program, "The program: a .pte, or a .bpte, which checks itself")->required();
  command->add_option(
      "-t,--target", flags->target,
      "CPU, or host for the reference kernels in this process (default: the CPU that the program was compiled "
      "for)");
  command->add_option("--isa", flags->isa, "Kernels of this instruction set for operators that do not name one");
  command->add_option("--method", flags->method, "The method to run, of a program with several (default: forward)");
  command->add_option("--input", flags->inputs, "An .npy per input, in order or as NAME=FILE; omitted inputs are zero");
  command->add_option("--output", flags->outputs, "An .npy to write per output, in order or as NAME=FILE");
  const CLI::Option* clock = command->add_option("--clock", flags->clock_text,
                                                 "Also report milliseconds at this clock frequency, e.g. 160MHz");
  command->add_flag(
      "--sequence", flags->sequence,
      "Inputs and outputs are [steps, …]: one execution per step, with the program's state kept from step to step");
  command->add_flag(
      "--profile", flags->profile,
      "Instructions and estimated cycles per operator, with names from PROGRAM.names.json, which compile writes");
  command->add_option("--board", flags->board,
                      "The emulated board; default: a test board with room for any program. microbit, stm32vldiscovery "
                      "and netduinoplus2 have their real memory sizes");
  command->add_option("--compiler", flags->compiler, "Compiler whose kernel archives are linked")
      ->check(CLI::IsMember({"gcc", "clang"}))
      ->capture_default_str();
  command->add_option("--elf", flags->elf, "Keep the firmware in this file");
  command->add_option("--timeout", flags->timeout, "Stop a board that hangs after this many seconds")
      ->check(positive)
      ->capture_default_str();
  command->add_option("--rtol", flags->tolerance.relative, "Relative tolerance for a bundle's float outputs")
      ->capture_default_str();
  command->add_option("--atol", flags->tolerance.absolute, "Absolute tolerance for a bundle's float outputs")
      ->capture_default_str();
  command->add_flag("--quiet", flags->quiet, "Print only errors and a bundle's verdict");
  command->add_flag("--json", flags->json, "Print one JSON object and nothing else");
  command->footer(
      "Examples:\n"
      "  cormorant run model.pte --input x.npy --output y.npy               on the emulated Cortex-M55\n"
      "  cormorant run model.pte --target=host --input x.npy                on the host, with the same bits\n"
      "  cormorant run model.pte --target=cortex-m4 --profile --clock=80MHz\n");
  command->callback([flags, clock] {
    if (clock->count() != 0) flags->clock = parse_clock(flags->clock_text);
    if (const int status = run(*flags); status != 0) throw CLI::RuntimeError(status);
  });
}

}  // namespace cormorant::cli
