// SPDX-License-Identifier: Apache-2.0
//
// cormorant-glue: the generated file of a firmware, for builds that link it themselves (firmware/firmware.cmake).
#include <CLI/CLI.hpp>
#include <fstream>
#include <iterator>

#include "base/diagnostic.h"
#include "base/output_file.h"
#include "fmt/format.h"
#include "runner/elf.h"
#include "runner/glue.h"
#include "target/parse.h"

namespace cormorant {
namespace {

struct Flags {
  std::string model, target, isa, method = "forward", kernels, output;
  std::uint64_t state_bytes = 0;
};

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError({.problem = "cannot be read", .advice = "", .file = path});
  const std::vector<char> text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void write_glue(const Flags& flags) {
  const Target target = parse_target(flags.target, flags.isa);
  if (target.is_any()) throw UsageError("--target=any is no CPU: name the one that the firmware is for");
  const ProgramFacts facts = read_facts(read_file(flags.model), flags.method);
  Glue glue = {.model = std::filesystem::absolute(flags.model),
               .method = flags.method,
               .kernels = choose_kernels(facts.operators, target, archive_symbols(flags.kernels)),
               .arenas = place_arenas(facts.arena_bytes, *find_board(target.cpu->board), facts.arena_names)};
  if (flags.state_bytes != 0) glue.state_bytes = flags.state_bytes;
  std::error_code ignored;  // one that is not there is not the other
  if (std::filesystem::equivalent(flags.model, flags.output, ignored)) {
    throw UsageError("--output would overwrite the model\n  give it another name");
  }
  write_output(flags.output, assembly(glue));
}

}  // namespace
}  // namespace cormorant

int main(int argc, char** argv) {
  cormorant::Flags flags;
  CLI::App app("Writes the assembly file that carries a model, the table of its kernels and its memory");
  app.add_option("model", flags.model, "The program (.pte)")->required();
  app.add_option("-t,--target", flags.target, "The CPU")->required();
  app.add_option("--isa", flags.isa, "scalar, dsp or mve; default: the CPU's");
  app.add_option("--method", flags.method, "The method to run")->capture_default_str();
  app.add_option("--kernels", flags.kernels, "The archive of kernels (libkernels.a)")->required();
  app.add_option("--state", flags.state_bytes, "Bytes for the runtime's state; default: the memory that is left");
  app.add_option("-o,--output", flags.output, "The file to write")->required();
  CLI11_PARSE(app, argc, argv);
  try {
    cormorant::write_glue(flags);
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
