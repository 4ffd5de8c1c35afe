// SPDX-License-Identifier: Apache-2.0
//
// The stack's bound: right to the byte for a firmware made by hand, refused where there is none, as the compilers see
// it, and small for all operators that there are. That painting never shows more is tested with the models.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "elf/stack_bound.h"
#include "fmt/format.h"
#include "gtest/gtest.h"
#include "runner/all_cores.h"
#include "runner/glue.h"
#include "runner/process.h"
#include "runner/toolchain.h"

namespace cormorant {
namespace {

Elf link(const Core& core, const std::vector<std::string>& sources, const TemporaryDirectory& directory) {
  const std::filesystem::path elf = directory.path() / "firmware.elf";
  link_firmware(archive_directory(*core.cpu, core.compiler), core.cpu->board, sources, elf);
  return read_elf(elf);
}

StackBound bound_of(const Elf& elf) {
  CallGraph graph(elf);
  return bound_stack(graph, read_operator_table(graph));
}

Elf by_hand(const Core& core, const std::string& variant = "PLAIN") {
  const TemporaryDirectory directory;
  return link(core, {std::string(CORMORANT_SOURCE_DIR) + "/runner/testdata/stack.S", "-D" + variant}, directory);
}

class EveryCore : public testing::TestWithParam<Core> {};
INSTANTIATE_TEST_SUITE_P(Stack, EveryCore, testing::ValuesIn(all_cores()),
                         [](const auto& core) { return identifier_of(core.param); });

class ByHand : public testing::TestWithParam<const char*> {
 protected:
  static Core core() { return {std::ranges::find(kCpus, std::string_view(GetParam()), &Cpu::name), Compiler::gcc}; }
};
INSTANTIATE_TEST_SUITE_P(Stack, ByHand, testing::Values("cortex-m0", "cortex-m4", "cortex-m55"));

TEST_P(ByHand, IsBoundedToTheByte) {
  const StackBound bound = bound_of(by_hand(core()));
  EXPECT_EQ(bound.load, 40U + 608U);
  EXPECT_EQ(bound.execute, 8U + 32U + 408U + 16U);
  EXPECT_EQ(bound.bytes, 8U + 40U + 608U);
  std::string path;
  for (const StackFrame& frame : bound.path) path += fmt::format("{} {}, ", frame.function, frame.bytes);
  EXPECT_EQ(path, "cormorant_board_reset 0, main 8, cormorant_inference_load 40, kernel_load 608, ");
}

TEST_P(ByHand, WithoutABoundSaysWhy) {
  const std::pair<const char*, const char*> table[] = {
      {"RECURSION", "kernel_execute calls itself"},
      {"UNKNOWN_POINTER", "calls through a pointer with unknown targets"},
      {"VARYING", "the stack depth varies here"},
      {"UNKNOWN_DEPTH", "the stack pointer is set to an unknown value"},
  };
  for (const auto& [variant, expected] : table) {
    std::string said = "nothing";
    try {
      bound_of(by_hand(core(), variant));
    } catch (const StackError& error) {
      said = error.what();
    }
    EXPECT_NE(said.find(expected), std::string::npos) << variant << ": " << said;
  }
}

// ---- all operators --------------------------------------------------------------------------------------------------

// A kernel is a global constant of three words with a C name.
std::vector<KernelChoice> kernels_of(const std::filesystem::path& archive) {
  const std::vector<std::string> symbols = archive_symbols(archive);
  const std::set<std::string> global(symbols.begin(), symbols.end());
  std::vector<KernelChoice> kernels;
  for (const Elf& object : read_archive(archive)) {
    for (const ElfSymbol& symbol : object.symbols) {
      const bool is_constant =
          symbol.section < object.sections.size() && object.sections[symbol.section].name == ".rodata." + symbol.name;
      if (symbol.size != 12 || !is_constant || symbol.name.starts_with("_Z")) continue;
      if (global.contains(symbol.name)) kernels.push_back({"", symbol.name});
    }
  }
  return kernels;
}

struct Everything {
  std::vector<KernelChoice> kernels;
  Elf elf;

  explicit Everything(const Core& core) {
    const TemporaryDirectory directory;
    kernels = kernels_of(archive_directory(*core.cpu, core.compiler) / "libkernels.a");
    std::ofstream(directory.path() / "model.pte") << "none";
    std::ofstream(directory.path() / "model.S")
        << assembly({.model = "model.pte", .method = "forward", .kernels = kernels, .arenas = {}});
    // All kernels together need not fit a board's memory: they are not run.
    elf = link(core, {"model.S", "-Wl,--noinhibit-exec"}, directory);
  }
};

// -fstack-usage: file:line:column:name, bytes, kind. gcc writes the demangled name, clang the mangled one.
// Neither distinguishes functions of the same name, so what is known of a name is a set.
std::string name_in_usage(const std::string& line, Compiler compiler) {
  std::string name = line.substr(0, line.find('\t'));
  if (compiler == Compiler::clang) return name.substr(name.rfind(':') + 1);
  name = name.substr(0, name.find(" [with "));
  for (int colons = 0; colons < 3; ++colons) name = name.substr(name.find(':') + 1);
  for (std::size_t at = name.find("{anonymous}"); at != std::string::npos; at = name.find("{anonymous}")) {
    name.replace(at, 11, "(anonymous namespace)");
  }
  return name;
}

std::map<std::string, std::set<std::uint32_t>> read_usage(const std::filesystem::path& directory, Compiler compiler) {
  std::map<std::string, std::set<std::uint32_t>> usage;
  for (const char* const archive : {"libruntime.su", "libkernels.su"}) {
    std::ifstream file(directory / archive);
    EXPECT_TRUE(file) << directory << archive;
    for (std::string line; std::getline(file, line);) {
      const std::size_t tab = line.find('\t');
      EXPECT_NE(tab, std::string::npos) << line;
      EXPECT_TRUE(line.ends_with("static") || line.ends_with("bounded")) << line;
      const std::string name = name_in_usage(line, compiler);
      const auto bytes = static_cast<std::uint32_t>(std::stoul(line.substr(tab + 1)));
      usage[compiler == Compiler::gcc ? short_name(name) : name].insert(bytes);
    }
  }
  return usage;
}

std::string text(const std::vector<StackFrame>& path) {
  std::string all;
  for (const StackFrame& frame : path) all += fmt::format("\n  {:>5} {}", frame.bytes, frame.function);
  return all;
}

TEST_P(EveryCore, IsBoundedForAllOperatorsAndTheCompilersAgree) {
  const Everything all(GetParam());
  EXPECT_GT(all.kernels.size(), 130U);
  CallGraph graph(all.elf);
  const std::vector<KernelCode> kernels = read_operator_table(graph);
  ASSERT_EQ(kernels.size(), all.kernels.size());
  const StackBound bound = bound_stack(graph, kernels);
  EXPECT_LE(bound.bytes, 1024U) << testing::PrintToString(GetParam()) << text(bound.path);
  EXPECT_GT(bound.load, 600U);
  EXPECT_GT(bound.execute, 300U);

  const Compiler compiler = GetParam().compiler;
  const auto usage = read_usage(archive_directory(*GetParam().cpu, compiler), compiler);
  std::set<std::uint32_t> reached;
  for (const KernelCode& kernel : kernels) {
    for (const Reach* reach : {&kernel.load, &kernel.execute}) {
      reached.insert(reach->functions.begin(), reach->functions.end());
    }
  }
  // The compilers do not count what assembly pushes, nor gcc arguments that it spills: never more, and seldom less.
  std::size_t compared = 0, equal = 0;
  for (const std::uint32_t entry : reached) {
    const FunctionCode& function = graph.function(entry);
    const auto known = usage.find(compiler == Compiler::gcc ? short_name(function.name) : function.name);
    if (known == usage.end()) continue;  // of the library
    EXPECT_GE(function.frame, *known->second.begin()) << function.name;
    ++compared;
    equal += known->second.count(function.frame);
  }
  EXPECT_GT(compared, reached.size() * 3 / 4);
  EXPECT_GE(equal, compared * 96 / 100) << compared - equal << " of " << compared;
}

}  // namespace
}  // namespace cormorant
