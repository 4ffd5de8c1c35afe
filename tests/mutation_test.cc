// SPDX-License-Identifier: Apache-2.0
//
// Whatever a model contains, compiling it ends in a program that our own runtime loads, or in an InputError. Good
// graphs are changed in one place each: a number, a name, an argument; and every imported form is called with arguments
// of the right and the wrong kinds. CORMORANT_MUTATION=N goes through every N-th mutant (1: all), each in a process of
// its own, so that crashes are counted, too.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <set>

#include "base/diagnostic.h"
#include "compiler/compile.h"
#include "compiler/import.h"
#include "compiler/ways.h"
#include "formats/pt2/zip_builder.h"
#include "ir/text.h"
#include "ops/host/schema.h"
#include "program/program_io.h"
#include "runtime/host.h"
#include "tests/command.h"
#include "tests/fuzz/corpus.h"
#include "tests/fuzz/mutate.h"
#include "tests/mutants.h"

namespace cormorant::tests {
namespace {

// What went wrong, "" if nothing did: a program that runs, or a refusal that says something.
std::string fault_of(const std::function<ir::Graph()>& import, const compiler::Way& way, bool is_program) {
  bool is_compiled = false;
  const compiler::Options options = compiler::options_of(way);
  try {
    ir::Graph graph = import();
    const bool of_later_stage = is_program || is_of_later_stage(graph);
    const char* const file = is_program ? "t.pte" : "t";
    check_program_operators(graph, options.config, file);
    if (of_later_stage && options.quantize) require_operators_to_quantize(graph, file);
    const compiler::Compiled compiled = compiler::compile(graph, options);
    is_compiled = !of_later_stage;  // as the command line has it, whose last check this is
    HostProgram(compiled.program, ops::host_kernels()).run({});
    return "";
  } catch (const InputError& error) {
    if (is_compiled) return std::string("compiled, but refused by the runtime: ") + error.what();
    return error.diagnostic().problem.empty() ? "refused without a reason" : "";
  } catch (const std::bad_alloc&) {
    return "memory for a file's numbers";
  } catch (const std::exception& error) {
    return error.what();
  }
}

bool is_isolated() { return std::getenv("CORMORANT_MUTATION") != nullptr; }
std::size_t every(std::size_t usually) {
  return is_isolated() ? std::strtoul(std::getenv("CORMORANT_MUTATION"), nullptr, 10) : usually;
}

// The same in a process of its own, so that a crash is a fault like any other.
std::string isolated_fault_of(const std::function<ir::Graph()>& import, const compiler::Way& way, bool is_program) {
  int ends[2];
  if (pipe(ends) != 0) return "pipe";
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    alarm(60);
    const std::string fault = fault_of(import, way, is_program);
    [[maybe_unused]] const ssize_t written = write(ends[1], fault.data(), fault.size());
    _exit(0);
  }
  close(ends[1]);
  std::string fault;
  char buffer[512];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    fault.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? fault : "sanitizer";
}

void expect_sound(const std::string& mutant, const std::function<ir::Graph()>& import, const compiler::Way& way,
                  bool is_program = false) {
  const std::string fault =
      is_isolated() ? isolated_fault_of(import, way, is_program) : fault_of(import, way, is_program);
  EXPECT_EQ(fault, "") << way.name << ":\n" << mutant;
}

// All of them in turn.
const compiler::Way& next_way() {
  static std::size_t way = 0;
  return compiler::some_way(way++);
}

TEST(Mutation, GraphsOfEveryOperatorAreSound) {
  for (const std::string& text : operator_graphs()) {
    for (const compiler::Way& way : {compiler::kFloatWay, compiler::kUsualWay}) {
      ir::Graph graph = compiler::import_text(text, "t", blob());
      EXPECT_NO_THROW(static_cast<void>(compiler::compile(graph, compiler::options_of(way)))) << text;
    }
  }
}

// Every canonical node has its graph above: a new operator comes with one.
TEST(Mutation, EveryCanonicalNodeHasAGraph) {
  std::string all;
  for (const std::string& text : operator_graphs()) all += text;
  const std::set<std::string> by_passes = {
      "cormorant.flip_sign",  "cormorant.requantize",  "cormorant.reinterpret",
      "cormorant.relayout",   "cormorant.rows.feed",   "cormorant.rows.push",
      "cormorant.rows.slab",  "cormorant.rows.window", "cormorant.rows.cut",
      "cormorant.rows.paste", "cormorant.rows.group",  "quantized_decomposed.dequantize_per_channel"};
  for (const ops::Operator& op : ops::all_operators()) {
    // Functions of elements, which are all alike: some of map's have graphs.
    if (op.name == "activation" || op.name == "map") continue;
    for (const std::string& name : op.canonical) {
      EXPECT_TRUE(ops::find_canonical(name)->arguments.has_value()) << name << " does not say its arguments";
      if (!by_passes.contains(name)) {
        EXPECT_NE(all.find(name + "("), std::string::npos) << name;
      }
    }
  }
}

// docs/operators.md and `cormorant operators` say what Operator::has says.
TEST(Mutation, OperatorsHaveWhatTheirRulesOffer) {
  for (const std::string& text : operator_graphs()) {
    const ir::Graph graph = compiler::import_text(text, "t", blob());
    for (const ir::Node& node : graph.nodes()) {
      const ops::Operator* op = ops::find(node);
      if (op == nullptr || op->quantize == nullptr) continue;
      const ops::QuantRule rule = op->quantize(node);
      if (std::holds_alternative<ops::QuantRule::Reject>(rule.output)) continue;
      for (const ops::Precision precision : rule.precisions) {
        EXPECT_TRUE(op->has(precision)) << op->name << " " << ops::name_of(precision) << "\n" << text;
      }
    }
  }
}

TEST(Mutation, ChangedGraphsCompileToWhatLoadsOrAreRefused) {
  std::size_t count = 0;
  for (const std::string& text : operator_graphs()) {
    for (const std::string& mutant : mutants_of(text)) {
      // All of them would take minutes: a fixed sample, each in one of the ways.
      if (++count % every(199) != 0) continue;
      expect_sound(mutant, [&] { return compiler::import_text(mutant, "t", blob()); }, next_way());
    }
  }
  std::cout << count << " mutants\n";
}

// Graphs given as the text of a later stage.
TEST(Mutation, ChangedTextsOfLaterStagesAreSoundToo) {
  std::size_t count = 0;
  for (const std::string& text : {operator_graphs().front(), operator_graphs().back()}) {
    for (const char* last : {"quantize", "lower", "clean_up"}) {
      ir::Graph graph = compiler::import_text(text, "t", blob());
      const compiler::Options options = compiler::options_of(compiler::kUsualWay);
      const compiler::Stages all = compiler::default_stages(options);
      std::vector<compiler::Stage> stages;
      for (const auto& part : {all.in_float, all.quantize, all.for_target}) {
        stages.insert(stages.end(), part.begin(), part.end());
      }
      const auto end = std::ranges::find(stages, last, &compiler::Stage::name);
      compiler::Facts facts;
      compiler::Context context{options, facts};
      for (auto stage = stages.begin(); stage <= end; ++stage) stage->run(graph, context);
      std::vector<std::byte> constants;
      const std::string printed = ir::print(graph, &constants);
      const ir::Bytes data = ir::Bytes::own(constants);
      for (const std::string& mutant : mutants_of(printed)) {
        if (++count % every(117) != 0) continue;
        expect_sound(mutant, [&] { return compiler::import_text(mutant, "t", data); }, compiler::kFloatWay);
      }
    }
  }
  std::cout << count << " mutants\n";
}

TEST(Mutation, CallsWithAnyArgumentsImportSoundlyOrAreRefused) {
  std::size_t count = 0, imported = 0;
  for (const ops::Operator& op : ops::all_operators()) {
    for (const ops::AtenForm& form : op.forms) {
      for (unsigned seed = 0; seed < 60 / every(30); ++seed) {
        const pt2::Program program = random_call(ops::parse_schema(form.schema), seed);
        ++count;
        const auto import = [&] {
          ir::Graph graph = compiler::import_program(program, "call.pt2");
          ++imported;
          return graph;
        };
        expect_sound(std::string(form.schema) + " seed " + std::to_string(seed), import, next_way());
      }
    }
  }
  std::cout << imported << " of " << count << " calls imported\n";
}

TEST(Mutation, ChangedExportsAreSound) {
  for (const char* file :
       {"docs/tutorial/wave.pt2", "formats/pt2/testdata/inplace.pt2", "tests/executorch/keyword_net.pt2"}) {
    const std::string bytes = read_text(std::string(CORMORANT_SOURCE_DIR "/") + file);
    std::size_t count = 0;
    for (const std::string& mutant : mutants_of_export(bytes, 1200 / every(60))) {
      const pt2::SharedBytes shared = pt2::share(mutant);
      const auto import = [&] {
        const pt2::Archive archive = pt2::parse(shared.bytes, shared.owner, file, {.verify_checksums = false});
        return compiler::import_program(archive.programs.at(0), file);
      };
      expect_sound(std::string(file) + " mutant " + std::to_string(count++), import, next_way());
    }
  }
}

// A program can be compiled again, ours or ExecuTorch's, for another target: so can one that somebody has changed. It
// cannot be quantized.
TEST(Mutation, ChangedProgramsAreSound) {
  constexpr compiler::Way kAgain[] = {
      compiler::kFloatWay,
      {"for cortex-m0",
       [](compiler::Options& options) {
         options.quantize = false;
         options.config.target = parse_target("cortex-m0", "");
       }},
      {"for ExecuTorch",
       [](compiler::Options& options) {
         options.quantize = false;
         options.config.runtime = ops::Runtime::executorch;
       }},
      compiler::kUsualWay,
  };
  const std::vector<fuzz::SeedFile> seeds = fuzz::read_seeds(CORMORANT_SOURCE_DIR);
  std::size_t imported = 0, count = 0;
  const auto expect_sound_again = [&](const std::string& name, const fuzz::Bytes& program) {
    const auto import = [&] {
      ir::Graph graph = compiler::import_pte(program, name);
      ++imported;
      return graph;
    };
    expect_sound(name, import, kAgain[count++ % std::size(kAgain)], true);
  };
  for (const fuzz::SeedFile& seed : seeds) expect_sound_again(seed.name, seed.bytes);
  for (const fuzz::SeedFile& finding : fuzz::read_corpus(CORMORANT_SOURCE_DIR "/tests/fuzz/findings")) {
    for (std::size_t i = 0; i < std::size(kAgain); ++i) expect_sound_again(finding.name, finding.bytes);
  }
  fuzz::Random random(1);
  for (std::size_t i = 0; i < 6'000 / every(30); ++i) {
    const fuzz::SeedFile& seed = seeds[fuzz::pick(random, seeds.size())];
    expect_sound_again(seed.name + " mutant " + std::to_string(i), fuzz::mutate(seed.bytes, random));
  }
  std::cout << imported << " of " << count << " programs imported\n";
}

}  // namespace
}  // namespace cormorant::tests
