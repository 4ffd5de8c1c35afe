// SPDX-License-Identifier: Apache-2.0
//
// cormorant-glue: the generated files of a firmware, for builds that link it themselves: cormorant_add_model() of
// cmake/cormorant-models.cmake, and firmware/firmware.cmake.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include "base/diagnostic.h"
#include "base/output_file.h"
#include "elf/elf.h"
#include "fmt/format.h"
#include "formats/pte/method_names.h"
#include "formats/pte/proportion.h"
#include "runner/glue.h"
#include "runner/launcher.h"
#include "runner/model_header.h"
#include "runner/state.h"
#include "target/parse.h"

namespace cormorant {
namespace {

struct Flags {
  std::vector<std::string> models;
  std::string target, isa, method, kernels, output, name, header, arena;
  bool arena_alone = false;
  std::optional<std::uint64_t> state_bytes;
};

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError({.problem = "cannot be read", .advice = "", .file = path});
  const std::vector<char> text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto bytes = std::as_bytes(std::span(text));
  pte::require_proportionate(bytes, path);
  return {bytes.begin(), bytes.end()};
}

// The one that was named, or all. A file that cannot be read has one that the reader will refuse.
std::vector<std::string> methods_of(const Flags& flags, const std::vector<std::byte>& program,
                                    const std::string& model) {
  std::vector<std::string> methods = pte::method_names(program);
  if (methods.empty() || !flags.method.empty()) methods = {pte::choose_method(methods, flags.method, model)};
  return methods;
}

// All methods of all models: whichever runs, it has room.
void write_shared_arenas(const Flags& flags) {
  std::vector<ProgramFacts> models;
  for (const std::string& model : flags.models) {
    const std::vector<std::byte> program = read_file(model);
    for (const std::string& method : methods_of(flags, program, model)) {
      models.push_back(read_facts(program, method));
      require_sharable(models.back(), model, flags.arena);
    }
  }
  write_output(flags.output, assembly(shared_arenas(models, flags.arena)));
}

// For cormorant's own main().
void write_for_harness(const Flags& flags, const Target& target, const std::vector<std::byte>& program) {
  const std::string& model = flags.models.front();
  const std::string method = pte::choose_method(pte::method_names(program), flags.method, model);
  const ProgramFacts facts = read_facts(program, method);
  Glue glue = {.model = std::filesystem::absolute(model),
               .method = method,
               .kernels = choose_kernels(facts.operators, target, archive_symbols(flags.kernels), facts.of_numbers),
               .arenas = place_arenas(facts.arena_bytes, *find_board(target.cpu->board), facts.arena_names),
               .state_bytes = flags.state_bytes};
  if (glue.state_bytes == 0U) glue.state_bytes.reset();
  glue.pushes_rows = facts.rows != 0;
  write_output(flags.output, assembly(glue));
}

// For a user's firmware. The only method is called as the model is; of several, each NAME_METHOD.
void write_for_firmware(const Flags& flags, const Target& target, const std::vector<std::byte>& program) {
  if (flags.name != identifier(flags.name)) throw UsageError("--name=" + flags.name + " is not a valid C identifier");
  const std::string& model = flags.models.front();
  const std::vector<std::string> methods = methods_of(flags, program, model);
  std::vector<ProgramFacts> facts;
  for (const std::string& method : methods) {
    facts.push_back(read_facts(program, method));
    if (!flags.arena.empty()) require_sharable(facts.back(), model, flags.arena);
  }
  std::vector<PlacedArena> arenas = shared_arenas(facts, flags.arena.empty() ? flags.name : flags.arena);
  const auto are_elsewhere = [&] {
    for (PlacedArena& arena : arenas) arena.section.clear();
  };
  if (!flags.arena.empty()) are_elsewhere();
  std::string text;
  std::vector<ModelHeader> headers;
  std::set<std::string> names;
  for (std::size_t i = 0; i < methods.size(); ++i) {
    const std::string name = methods.size() == 1 ? flags.name : flags.name + "_" + identifier(methods[i]);
    if (!names.insert(name).second) {
      throw InputError({.problem = fmt::format("two of its methods would be called {} in C", name),
                        .advice = "give the methods names that differ in letters or digits",
                        .file = model});
    }
    const Glue glue = {
        .name = name,
        .model_section = ".rodata.cormorant_model." + flags.name,
        .model = std::filesystem::absolute(model),
        .model_data = i == 0 ? "" : headers.front().name + "_model_data",
        .method = methods[i],
        .kernels = choose_kernels(facts[i].operators, target, archive_symbols(flags.kernels), facts[i].of_numbers),
        .arenas = arenas,
        .state_bytes = flags.state_bytes ? *flags.state_bytes : state_bytes(program, facts[i], methods[i], target)};
    text += assembly(glue);
    are_elsewhere();  // only once
    headers.push_back({.name = name,
                       .file = std::filesystem::path(model).filename().string(),
                       .facts = facts[i],
                       .model_bytes = program.size(),
                       .state_bytes = *glue.state_bytes,
                       .isa = target.isa});
  }
  write_output(flags.output, text);
  if (flags.header.empty()) return;
  write_output(flags.header, headers.size() == 1 ? model_header(headers.front()) : methods_header(flags.name, headers));
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
  flags.name.empty() ? write_for_harness(flags, target, program) : write_for_firmware(flags, target, program);
}

}  // namespace
}  // namespace cormorant

int main(int argc, char** argv) {
  cormorant::Flags flags;
  CLI::App app("Write an assembly file with a model, the table of its kernels and its memory", "cormorant-glue");
  app.add_option("model", flags.models, "The program (.pte)")->required();
  app.add_option("-t,--target", flags.target, "The CPU");
  app.add_option("--isa", flags.isa, "scalar, dsp or mve; default: the CPU's");
  app.add_option("--method", flags.method,
                 "Only this method; default: all, or for cormorant's own main() forward or the only one");
  app.add_option("--kernels", flags.kernels, "The archive of kernels (libkernels.a)");
  app.add_option("--name", flags.name,
                 "Prefix of the model's symbols; without it the file is for cormorant's own main()");
  app.add_option("--header", flags.header, "Also write a header for firmware in C or C++");
  app.add_option("--arena", flags.arena, "Use the shared arenas of this name instead of the model's own");
  app.add_flag("--arena-alone", flags.arena_alone, "Write only these arenas, for all given models");
  app.add_option("--state", flags.state_bytes, "Bytes for the runtime's state; default: exactly what the model needs");
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
