// SPDX-License-Identifier: Apache-2.0
//
// cormorant-glue: the generated files of a firmware, for builds that link it themselves: cormorant_add_model() of
// cmake/cormorant-models.cmake, and firmware/firmware.cmake.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/diagnostic.h"
#include "base/output_file.h"
#include "elf/elf.h"
#include "fmt/format.h"
#include "runner/glue.h"
#include "runner/launcher.h"
#include "runner/model_header.h"
#include "target/parse.h"

namespace cormorant {
namespace {

struct Flags {
  std::vector<std::string> models;
  std::string target, isa, method = "forward", kernels, output, name, header, arena;
  bool arena_alone = false;
  std::optional<std::uint64_t> state_bytes;
};

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError({.problem = "cannot be read", .advice = "", .file = path});
  const std::vector<char> text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// Plans have their true size only on a Cortex-M, and asking an emulated one takes a tenth of a second.
std::uint64_t measured_state(const std::vector<std::byte>& program, const std::string& method, const Target& target) {
  RunRequest request;
  request.program = program;
  request.method = method;
  request.target = target;
  request.only_load = true;
  for (const std::string& line : run_on_board(request).console) {
    if (line.starts_with("state ")) return std::stoull(line.substr(6));
  }
  throw std::runtime_error("the board did not report how much state the program uses");
}

// Without archives, cross compiler or emulator to measure with, an estimate that operators hardly exceed: load reports
// if it is too small.
std::uint64_t state_for(const std::vector<std::byte>& program, const ProgramFacts& facts, const std::string& method,
                        const Target& target) {
  try {
    return measured_state(program, method, target);
  } catch (const MissingTool& error) {
    constexpr std::uint64_t kPerStep = 128;
    const std::uint64_t estimate = kPerStep * (facts.steps.size() + 1);
    fmt::print(stderr,
               "warning: the state is estimated at {} bytes, not measured: {}\n  {}; or set its size: STATE of "
               "cormorant_add_model(), --state=BYTES of cormorant-glue\n",
               estimate, error.diagnostic().problem, error.diagnostic().advice);
    return estimate;
  }
}

void write_shared_arenas(const Flags& flags) {
  std::vector<ProgramFacts> models;
  for (const std::string& model : flags.models) models.push_back(read_facts(read_file(model), flags.method));
  write_output(flags.output, assembly(shared_arenas(models, flags.arena)));
}

void write_glue(const Flags& flags) {
  if (flags.models.size() != 1) throw UsageError("give one model; only --arena-alone takes several");
  const Target target = parse_target(flags.target, flags.isa);
  if (target.is_any()) throw UsageError("--target=any is not a CPU: name the one that the firmware is for");
  const std::string& model = flags.models.front();
  std::error_code ignored;  // one that is not there is not the other
  if (std::filesystem::equivalent(model, flags.output, ignored)) {
    throw UsageError("--output would overwrite the model\n  choose another name");
  }
  const std::vector<std::byte> program = read_file(model);
  const ProgramFacts facts = read_facts(program, flags.method);
  Glue glue = {.model = std::filesystem::absolute(model),
               .method = flags.method,
               .kernels = choose_kernels(facts.operators, target, archive_symbols(flags.kernels), facts.of_numbers),
               .arenas = {},
               .state_bytes = flags.state_bytes};
  if (flags.name.empty()) {  // for the harness
    glue.arenas = place_arenas(facts.arena_bytes, *find_board(target.cpu->board), facts.arena_names);
    if (glue.state_bytes == 0U) glue.state_bytes.reset();
    glue.pushes_rows = facts.rows != 0;
    return write_output(flags.output, assembly(glue));
  }
  if (flags.name != identifier(flags.name)) throw UsageError("--name=" + flags.name + " is not a valid C identifier");
  glue.name = flags.name;
  glue.model_section = ".rodata.cormorant_model." + flags.name;
  glue.arenas = own_arenas(facts, flags.arena.empty() ? flags.name : flags.arena);
  if (!flags.arena.empty()) {
    for (PlacedArena& arena : glue.arenas) arena.section.clear();
  }
  if (!glue.state_bytes) glue.state_bytes = state_for(program, facts, flags.method, target);
  write_output(flags.output, assembly(glue));
  if (flags.header.empty()) return;
  write_output(flags.header, model_header({.name = flags.name,
                                           .file = std::filesystem::path(model).filename().string(),
                                           .facts = facts,
                                           .model_bytes = program.size(),
                                           .state_bytes = *glue.state_bytes,
                                           .isa = target.isa}));
}

}  // namespace
}  // namespace cormorant

int main(int argc, char** argv) {
  cormorant::Flags flags;
  CLI::App app("Write an assembly file with a model, the table of its kernels and its memory", "cormorant-glue");
  app.add_option("model", flags.models, "The program (.pte)")->required();
  app.add_option("-t,--target", flags.target, "The CPU");
  app.add_option("--isa", flags.isa, "scalar, dsp or mve; default: the CPU's");
  app.add_option("--method", flags.method, "The method to run")->capture_default_str();
  app.add_option("--kernels", flags.kernels, "The archive of kernels (libkernels.a)");
  app.add_option("--name", flags.name,
                 "Prefix of the model's symbols; without it the file is for cormorant's own main()");
  app.add_option("--header", flags.header, "Also write a header for firmware in C or C++");
  app.add_option("--arena", flags.arena, "Use the shared arenas of this name instead of the model's own");
  app.add_flag("--arena-alone", flags.arena_alone, "Write only these arenas, for all given models");
  app.add_option("--state", flags.state_bytes,
                 "Bytes for the runtime's state; default: as measured on an emulated board");
  app.add_option("-o,--output", flags.output, "The file to write")->required();
  CLI11_PARSE(app, argc, argv);
  try {
    if (flags.arena_alone) {
      cormorant::write_shared_arenas(flags);
    } else {
      cormorant::write_glue(flags);
    }
    return 0;
  } catch (const cormorant::InputError& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  } catch (const cormorant::UsageError& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "internal error: {}\n", error.what());
    return 3;
  }
}
