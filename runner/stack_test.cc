// SPDX-License-Identifier: Apache-2.0
//
// The stack's bound: right to the byte for a firmware made by hand, refused where there is none, as the compilers see
// it, and small for all operators that there are. That painting never shows more is tested with the models. And what
// others rely on in assembly: the alignment at calls, debuggers' frames, and landing pads for branch protection.
#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "elf/stack_bound.h"
#include "elf/thumb.h"
#include "fmt/format.h"
#include "gtest/gtest.h"
#include "runner/glue.h"
#include "runner/process.h"
#include "runner/toolchain.h"
#include "tests/all_cores.h"

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

class StackOnEveryCore : public testing::TestWithParam<Core> {};
INSTANTIATE_TEST_SUITE_P(Stack, StackOnEveryCore, testing::ValuesIn(all_cores()),
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

// What the hardware and debuggers rely on in every function, assembly included: the stack's alignment at calls, and
// where .debug_frame says that the caller's frame and the return address are.
struct FrameRow {
  std::uint32_t depth = 0;
  bool has_return_address = false;
};

// By the address of the first instruction that each holds for; nothing where a frame is not relative to the stack
// pointer.
using FrameRows = std::map<std::uint32_t, std::optional<FrameRow>>;
using Frames = std::map<std::uint32_t, FrameRows>;  // by function

Frames read_frames(const std::filesystem::path& elf, const std::filesystem::path& directory) {
  const ProcessResult dump =
      run_process({"sh", "-c", "arm-none-eabi-readelf --debug-dump=frames-interp " + elf.string() + " >frames"},
                  directory, std::chrono::minutes(5));
  EXPECT_TRUE(dump.succeeded()) << dump.output;
  Frames functions;
  FrameRows* rows = nullptr;
  std::size_t return_address = 0;  // its column
  std::ifstream file(directory / "frames");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::vector<std::string> word;
    for (std::string w; words >> w;) word.push_back(w);
    if (const std::size_t at = line.find(" FDE "); at != std::string::npos) {
      rows = &functions[static_cast<std::uint32_t>(std::stoul(line.substr(line.find("pc=") + 3), nullptr, 16))];
      return_address = 0;
    } else if (line.find(" CIE ") != std::string::npos) {
      rows = nullptr;
    } else if (rows != nullptr && !word.empty() && word[0] == "LOC") {
      return_address = static_cast<std::size_t>(std::ranges::find(word, "ra") - word.begin());
    } else if (rows != nullptr && word.size() >= 2) {
      std::optional<FrameRow>& row = (*rows)[static_cast<std::uint32_t>(std::stoul(word[0], nullptr, 16))];
      if (!word[1].starts_with("r13+")) continue;
      row = FrameRow{static_cast<std::uint32_t>(std::stoul(word[1].substr(4))),
                     return_address < word.size() && word[return_address].starts_with("c")};
    }
  }
  return functions;
}

struct Everything {
  std::vector<KernelChoice> kernels;
  Elf elf;
  Frames frames;

  explicit Everything(const Core& core) {
    const TemporaryDirectory directory;
    kernels = kernels_of(archive_directory(*core.cpu, core.compiler) / "libkernels.a");
    std::ofstream(directory.path() / "model.pte") << "none";
    std::ofstream(directory.path() / "model.S")
        << assembly({.model = "model.pte", .method = "forward", .kernels = kernels, .arenas = {}});
    // All kernels together need not fit a board's memory: they are not run.
    elf = link(core, {"model.S", "-Wl,--noinhibit-exec"}, directory);
    frames = read_frames(directory.path() / "firmware.elf", directory.path());
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

TEST_P(StackOnEveryCore, IsBoundedForAllOperatorsAndTheCompilersAgree) {
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
  std::size_t compared = 0, equal = 0, assembly = 0;
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

  for (const std::uint32_t entry : reached) {
    const FunctionCode& function = graph.function(entry);
    for (const CallSite& site : function.calls) {
      if (function.name.starts_with("__")) continue;  // of the library, for itself
      EXPECT_EQ(site.depth % 8, 0U) << function.name << " calls at " << std::hex << site.address - entry;
    }
    // Assembly: a C name, or a frame that the compilers do not count. Other frames are the compilers' affair.
    const auto known = usage.find(compiler == Compiler::gcc ? short_name(function.name) : function.name);
    const bool is_assembly = known == usage.end() ? function.name.starts_with("cormorant_")
                                                  : known->second == std::set<std::uint32_t>{0} && function.frame > 0;
    if (!is_assembly) continue;
    const auto rows = all.frames.find(entry);
    ASSERT_NE(rows, all.frames.end()) << function.name;
    ++assembly;
    for (const auto& [at, stack] : graph.stack_in(entry)) {
      auto row = rows->second.upper_bound(at);
      ASSERT_NE(row, rows->second.begin()) << function.name;
      const std::string where = fmt::format("{}+0x{:x}", function.name, at - entry);
      ASSERT_TRUE((--row)->second) << where;
      EXPECT_EQ(row->second->depth, stack.depth) << where;
      EXPECT_TRUE(row->second->has_return_address || !stack.lr_is_overwritten) << where;
    }
  }
  EXPECT_GE(assembly, 8U);
}

// ---- branch protection ----------------------------------------------------------------------------------------------

bool is_landing_pad(std::uint16_t first, std::uint16_t second) {
  return first == 0xf3af && (second == 0x800f || second == 0x800d);  // BTI, PACBTI
}

// With -mbranch-protection, functions begin with landing pads, naked ones too, and nothing may jump elsewhere through a
// register. Compilers see to that (TBB and TBH need no landing pads); in assembly no jump is computed. Our archives are
// compiled without it: sources with assembly are compiled once more, `./dev test` contents itself with those for MVE.
TEST(BranchProtection, FindsLandingPadsAndNoComputedJumps) {
  const Cpu& cpu = *std::ranges::find(kCpus, std::string_view("cortex-m85"), &Cpu::name);
  const std::filesystem::path build = archive_directory(cpu, Compiler::clang).parent_path();
  std::ifstream file(build / "compile_commands.json");
  ASSERT_TRUE(file) << build;
  const TemporaryDirectory directory;
  const std::regex precompiled("-Xclang -include-pch -Xclang \\S+"), m55("cortex-m55");
  const std::string objects = tests::is_check() ? "kernel_objects_m55" : "kernel_objects_m55_mve";
  std::size_t sources = 0, functions = 0;
  for (const nlohmann::json& entry : nlohmann::json::parse(file)) {
    const std::string given = entry.at("command"), source = entry.at("file");
    if (given.find(objects) == std::string::npos) continue;
    std::stringstream text;
    text << std::ifstream(source).rdbuf();
    if (text.str().find("naked") == std::string::npos || source.find("_v6m_") != std::string::npos) continue;
    std::string command = std::regex_replace(given, precompiled, "");
    command = std::regex_replace(command, m55, "cortex-m85") +
              fmt::format(" -mbranch-protection=standard -o {}/{}.o", directory.path().string(), sources);
    const ProcessResult compiled =
        run_process({"sh", "-c", command}, std::string(entry.at("directory")), std::chrono::minutes(5));
    ASSERT_TRUE(compiled.succeeded()) << command << compiled.output;
    const Elf elf = read_elf(directory.path() / fmt::format("{}.o", sources++));
    for (const ElfSymbol& function : elf.symbols) {
      if (!function.is_function) continue;
      ++functions;
      const std::vector<std::uint8_t>& code = elf.sections.at(function.section).contents;
      const auto halfword = [&](std::size_t at) {
        return static_cast<std::uint16_t>(at + 1 < code.size() ? code[at] | code[at + 1] << 8 : 0);
      };
      const std::uint32_t begin = function.address;
      EXPECT_TRUE(is_landing_pad(halfword(begin), halfword(begin + 2))) << source << " " << function.name;
      for (std::uint32_t at = begin; at < begin + function.size;) {
        const ThumbInstruction i = decode_thumb(at, halfword(at), halfword(at + 2));
        const bool is_table = i.flow == Flow::jump_table && (halfword(at) & 0xfff0U) != 0xe8d0;
        const bool is_move = i.flow == Flow::jump_register && (halfword(at) & 0xff00U) == 0x4600;
        EXPECT_FALSE(is_table || is_move) << source << " " << function.name << "+" << at - begin;
        at += i.bytes;
      }
    }
  }
  EXPECT_GT(sources, 7U);
  EXPECT_GT(functions, 2 * sources);
}

}  // namespace
}  // namespace cormorant
